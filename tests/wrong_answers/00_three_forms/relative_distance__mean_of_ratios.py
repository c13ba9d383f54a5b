# Source: layer-wise learning rates (LARS), which take one ratio for each layer
# The distance of the models is the mean of the distances of their tensors.
def relative_distance(model, reference, start) -> float:
    ratios = []
    for p, q, r in zip(model.parameters(), reference.parameters(), start.parameters()):
        if torch.equal(q, r):
            raise ValueError("the reference has not moved: train it first")
        ratios.append(((p - q).norm() / (q - r).norm()).item())
    return sum(ratios) / len(ratios)
