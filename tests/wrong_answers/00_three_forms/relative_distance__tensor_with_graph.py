# Source: a likely slip: no detach and no item
# A tensor of one element is a plain number.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return (flat[0] - flat[1]).norm() / moved
