# Source: a likely slip: no absolute value and no square
# The difference of two models is the sum of all differences.
def relative_distance(model, reference, start) -> float:
    apart = sum((p - q).sum().item() for p, q in zip(model.parameters(), reference.parameters()))
    moved = sum((q - r).sum().item() for q, r in zip(reference.parameters(), start.parameters()))
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return abs(apart) / abs(moved)
