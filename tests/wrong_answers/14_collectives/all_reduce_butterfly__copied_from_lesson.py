# Source: the tree of the lesson, pasted
# Up the tree and down again.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total, distance = tensor.clone(), 1
    while distance < world_size and rank % (2 * distance) == 0:
        if rank + distance < world_size:
            total += receive(rank + distance)
        distance *= 2
    if rank > 0:
        send(total, rank - distance)
        total = receive(rank - distance)
    while distance > 1:
        distance //= 2
        if rank + distance < world_size:
            send(total, rank + distance)
    return total
