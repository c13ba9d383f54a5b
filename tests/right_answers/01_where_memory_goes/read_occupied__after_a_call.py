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
