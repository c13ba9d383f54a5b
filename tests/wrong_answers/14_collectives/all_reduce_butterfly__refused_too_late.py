# Source: the given line moved to the end
# Messages are under way before the ValueError.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    total, distance = tensor.clone(), 1
    while distance < world_size:
        if rank ^ distance < world_size:
            send(total, rank ^ distance)
            total += receive(rank ^ distance)
        distance *= 2
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    return total
