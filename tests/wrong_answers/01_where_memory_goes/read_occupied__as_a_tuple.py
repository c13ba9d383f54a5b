# Source: a function that returns three values
# A tuple is returned for a dict.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    cache = reserved - allocated
    return occupied - reserved, occupied - cache, total - occupied + cache
