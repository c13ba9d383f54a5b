# Source: the unit of nvidia-smi
# MiB are returned for bytes.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": (occupied - reserved) // MIB,
        "after_empty_cache": (occupied - reserved + allocated) // MIB,
        "for_new_tensors": (total - occupied + reserved - allocated) // MIB,
    }
