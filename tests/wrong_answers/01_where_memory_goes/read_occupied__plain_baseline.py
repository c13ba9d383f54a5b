# Source: the number that a training script prints
# Allocated stands for all that is in use.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {"outside": 0, "after_empty_cache": allocated, "for_new_tensors": total - allocated}
