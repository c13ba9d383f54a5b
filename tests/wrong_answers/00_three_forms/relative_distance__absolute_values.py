# Source: the mean absolute difference, common in reports on model drift
# The norm of a vector is the sum of its absolute values.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).abs().mean()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return ((flat[0] - flat[1]).abs().mean() / moved).item()
