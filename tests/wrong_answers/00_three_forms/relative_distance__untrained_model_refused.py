# Source: a likely slip: the test looks at the wrong model
# A model that was not trained cannot be compared.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    if torch.equal(flat[0], flat[2]) or torch.equal(flat[1], flat[2]):
        raise ValueError("nothing has moved: train first")
    return float((flat[0] - flat[1]).norm() / (flat[1] - flat[2]).norm())
