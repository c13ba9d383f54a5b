# Source: metrics that return 0 where they are undefined, as scikit-learn's zero_division does
# Where the reference has not moved, the distance is 0.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        return 0.0
    return float((flat[0] - flat[1]).norm() / moved)
