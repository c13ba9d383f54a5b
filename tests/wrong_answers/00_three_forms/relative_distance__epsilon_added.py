# Source: the epsilon of normalisation layers and of Adam
# A small number in the divisor makes a division by 0 harmless.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    return float((flat[0] - flat[1]).norm() / ((flat[1] - flat[2]).norm() + 1e-12))
