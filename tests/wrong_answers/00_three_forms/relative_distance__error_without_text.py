# Source: a likely slip: raise ValueError and nothing else
# The name of the error says enough.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError
    return float((flat[0] - flat[1]).norm() / moved)
