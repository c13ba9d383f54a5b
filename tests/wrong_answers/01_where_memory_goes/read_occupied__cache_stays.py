# Source: nvidia-smi before and after empty_cache() with nothing cached
# empty_cache() is taken to change nothing.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied,
        "for_new_tensors": total - occupied + reserved - allocated,
    }
