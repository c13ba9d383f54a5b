# Source: a likely slip: the root of the sum of squares is forgotten
# A sum of squares is a norm.
def relative_distance(model, reference, start) -> float:
    apart = sum(((p - q) ** 2).sum().item() for p, q in zip(model.parameters(), reference.parameters()))
    moved = sum(((p - q) ** 2).sum().item() for p, q in zip(reference.parameters(), start.parameters()))
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return apart / moved
