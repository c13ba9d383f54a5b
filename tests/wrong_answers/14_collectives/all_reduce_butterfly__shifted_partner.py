# Source: dissemination: to rank + d, from rank - d
# Right sums in an order that differs from rank to rank.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    distance = 1
    while distance < world_size:
        send(total, (rank + distance) % world_size)
        total += receive((rank - distance) % world_size)
        distance *= 2
    return total
