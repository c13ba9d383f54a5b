# Source: asserts at the head of a function, a habit of research code
# An assert is as good an error as any other.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    assert moved > 0, "the reference has not moved: train it first"
    return float((flat[0] - flat[1]).norm() / moved)
