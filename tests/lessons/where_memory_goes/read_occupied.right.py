# %% answer="after_a_call"
# Source: a story of two moments
# The readings after empty_cache() are computed first.
def after_empty_cache(allocated, reserved, occupied):
    given_back = reserved - allocated
    return allocated, reserved - given_back, occupied - given_back


def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    _, reserved_then, occupied_then = after_empty_cache(allocated, reserved, occupied)
    return {
        "for_new_tensors": total - occupied_then,
        "outside": occupied_then - reserved_then,
        "after_empty_cache": occupied_then,
    }


# %% answer="numpy_differences"
# Source: NumPy
# The pieces are differences of the sorted readings.
import numpy


def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    tensors, cache, outside, free = numpy.diff([0, allocated, reserved, occupied, total])
    return dict(outside=outside, after_empty_cache=tensors + outside, for_new_tensors=cache + free)


# %% answer="one_from_the_other"
# Source: algebra
# Each quantity follows from the one before.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    answer = {}
    answer["outside"] = occupied - reserved
    answer["after_empty_cache"] = answer["outside"] + allocated
    answer["for_new_tensors"] = total - answer["after_empty_cache"]
    return answer


# %% answer="pieces_of_a_bar"
# Source: a picture of the device
# The device is cut into four pieces, which are put together again.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    tensors, cache, outside, free = allocated, reserved - allocated, occupied - reserved, total - occupied
    assert tensors + cache + outside + free == total
    return {"outside": outside, "after_empty_cache": outside + tensors, "for_new_tensors": free + cache}
