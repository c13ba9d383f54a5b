# Source: mem_get_info(), whose free bytes leave out the cache
# The cache is not seen as room for new tensors.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied,
    }
