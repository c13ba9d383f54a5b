# Source: total_memory less memory_reserved(), a formula of many answers
# Neither context nor cache is seen.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - reserved,
    }
