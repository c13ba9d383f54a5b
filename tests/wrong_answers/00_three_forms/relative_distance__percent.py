# Source: a likely slip: the ratio is shown in percent
# A relative distance is a percentage.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return 100 * float((flat[0] - flat[1]).norm() / moved)
