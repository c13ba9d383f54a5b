# Source: reserved less allocated, a difference that guides print
# The cache is returned for what is outside.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": reserved - allocated,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }
