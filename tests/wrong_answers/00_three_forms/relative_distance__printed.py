# Source: a likely slip: print in place of raise
# An error is told by printing it.
def relative_distance(model, reference, start) -> float:
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    moved = (flat[1] - flat[2]).norm()
    if moved == 0:
        print("the reference has not moved: train it first")
    else:
        return float((flat[0] - flat[1]).norm() / moved)
