# Source: nvidia-smi less memory_allocated()
# The cache is counted as outside of the allocator.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - allocated,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }
