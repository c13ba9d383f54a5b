# an error of Python's turned into the one that is promised
import math


def difference_norm(one, other):
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return math.hypot(*(torch.linalg.vector_norm(p - q).item() for p, q in pairs))


def relative_distance(model, reference, start) -> float:
    try:
        return difference_norm(model, reference) / difference_norm(reference, start)
    except ZeroDivisionError:
        raise ValueError("nothing to compare with: the reference did not move") from None
