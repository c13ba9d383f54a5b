# Source: numpy.allclose with its default tolerance, as a test for equality
# Weights that are close to those of the start have not moved.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    if torch.allclose(flat[1], flat[2]):
        raise ValueError("the reference has not moved: train it first")
    return float((flat[0] - flat[1]).norm() / (flat[1] - flat[2]).norm())
