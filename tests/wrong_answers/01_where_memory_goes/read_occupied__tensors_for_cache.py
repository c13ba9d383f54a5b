# Source: the name 'cache', read as the tensors
# Tensors go and the cache stays.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }
