# Source: the words of the docstring instead of its keys
# A key has another name.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    cache = reserved - allocated
    return {"context": occupied - reserved, "after_empty_cache": occupied - cache, "free": total - occupied + cache}
