# Source: a loop that logs gradient norms layer by layer and adds them up
# The norm of all weights is the sum of the norms of the tensors.
def relative_distance(model, reference, start) -> float:
    apart = sum((p - q).norm().item() for p, q in zip(model.parameters(), reference.parameters()))
    moved = sum((q - r).norm().item() for q, r in zip(reference.parameters(), start.parameters()))
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return apart / moved
