# Source: distances 4, 2, 1
# The distances are halved.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    distance = world_size // 2
    while distance:
        send(total, rank ^ distance)
        total = total + receive(rank ^ distance)
        distance //= 2
    return total
