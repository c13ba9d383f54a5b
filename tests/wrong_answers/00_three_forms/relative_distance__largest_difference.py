# Source: the largest difference of any weight, as library tests print it
# The largest difference of any weight tells how far apart two models are.
def relative_distance(model, reference, start) -> float:
    if all(torch.equal(p, q) for p, q in zip(reference.parameters(), start.parameters())):
        raise ValueError("the reference has not moved: train it first")
    return max((p - q).abs().max().item() for p, q in zip(model.parameters(), reference.parameters()))
