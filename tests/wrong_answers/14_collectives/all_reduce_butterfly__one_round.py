# Source: a single swap
# Each rank meets its neighbour only.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    send(total, rank ^ 1)
    total += receive(rank ^ 1)
    return total
