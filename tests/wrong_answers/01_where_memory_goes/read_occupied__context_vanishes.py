# Source: memory_reserved() after empty_cache()
# The context is forgotten: only tensors are left.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }
