# Source: a likely slip: = where += belongs
# The last round of a loop holds the result.
def relative_distance(model, reference, start) -> float:
    for p, q, r in zip(model.parameters(), reference.parameters(), start.parameters()):
        apart = (p - q).norm().item()
        moved = (q - r).norm().item()
    if moved == 0:
        raise ValueError("the reference has not moved: train it first")
    return apart / moved
