# Source: algebra
# Each quantity follows from the one before.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    answer = {}
    answer["outside"] = occupied - reserved
    answer["after_empty_cache"] = answer["outside"] + allocated
    answer["for_new_tensors"] = total - answer["after_empty_cache"]
    return answer
