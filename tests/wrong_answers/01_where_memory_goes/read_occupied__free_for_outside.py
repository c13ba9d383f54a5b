# Source: the word 'outside'
# What is free is taken for what is outside.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": total - occupied,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }
