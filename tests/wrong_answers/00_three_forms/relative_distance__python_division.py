# Source: a likely slip: Python's own error is trusted to come
# Python raises where a division by 0 happens, so nothing has to be tested.
import math


def relative_distance(model, reference, start) -> float:
    apart = moved = 0.0
    for p, q, r in zip(model.parameters(), reference.parameters(), start.parameters()):
        apart += (p - q).pow(2).sum().item()
        moved += (q - r).pow(2).sum().item()
    return math.sqrt(apart) / math.sqrt(moved)
