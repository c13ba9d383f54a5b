# Source: NumPy comparisons
# The truth values are those of NumPy.
import numpy


def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    quantities = numpy.array([updates, largest_gradient_norm, updates])
    names = ("sampling", "clipping", "schedule")
    return dict(zip(names, quantities > 1, strict=True))
