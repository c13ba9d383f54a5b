# Source: free bytes plus all that is reserved
# Tensors in use are taken for room.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied + reserved,
    }
