# Source: a likely slip: the movement of the wrong model
# How far the model itself moved is the measure.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    if torch.equal(flat[1], flat[2]):
        raise ValueError("the reference has not moved: train it first")
    return float((flat[0] - flat[1]).norm() / (flat[0] - flat[2]).norm())
