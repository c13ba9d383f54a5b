# Source: what empty_cache() gives back
# What goes is returned, not what stays.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": reserved - allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }
