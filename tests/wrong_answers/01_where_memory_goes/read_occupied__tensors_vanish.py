# Source: the name empty_cache, read as 'free the GPU'
# All that is reserved is taken to be freed.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved,
        "for_new_tensors": total - occupied + reserved - allocated,
    }
