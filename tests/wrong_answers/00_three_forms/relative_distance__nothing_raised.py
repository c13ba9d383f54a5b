# Source: a likely slip: the docstring is read up to Returns
# A division by a movement of 0 explains itself.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    return float((flat[0] - flat[1]).norm() / (flat[1] - flat[2]).norm())
