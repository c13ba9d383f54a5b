# Source: total += total
# The rank's own sum is added to itself, and what comes in is dropped.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    distance = 1
    while distance < world_size:
        send(total, rank ^ distance)
        total += total
        receive(rank ^ distance)
        distance *= 2
    return total
