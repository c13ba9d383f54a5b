# Source: a likely slip: return inside the loop
# A return inside a loop collects the results of all rounds.
def relative_distance(model, reference, start) -> float:
    for p, q, r in zip(model.parameters(), reference.parameters(), start.parameters()):
        moved = (q - r).norm().item()
        if moved == 0:
            raise ValueError("the reference has not moved: train it first")
        return (p - q).norm().item() / moved
