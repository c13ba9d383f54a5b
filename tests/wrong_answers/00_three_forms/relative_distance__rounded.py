# Source: a likely slip: the number is rounded for display
# Four digits are enough for a distance.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return round(float((flat[0] - flat[1]).norm() / moved), 4)
