# Source: a likely slip: the start is subtracted twice
# How far each model moved says how far apart they are.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return float((flat[0] - flat[2]).norm() / moved)
