# Source: a picture of the device
# The device is cut into four pieces, which are put together again.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    tensors, cache, outside, free = allocated, reserved - allocated, occupied - reserved, total - occupied
    assert tensors + cache + outside + free == total
    return {"outside": outside, "after_empty_cache": outside + tensors, "for_new_tensors": free + cache}
