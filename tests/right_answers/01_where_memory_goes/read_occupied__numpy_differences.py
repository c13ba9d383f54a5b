# Source: NumPy
# The pieces are differences of the sorted readings.
import numpy


def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    tensors, cache, outside, free = numpy.diff([0, allocated, reserved, occupied, total])
    return dict(outside=outside, after_empty_cache=tensors + outside, for_new_tensors=cache + free)
