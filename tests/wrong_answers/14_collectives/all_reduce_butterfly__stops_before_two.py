# Source: while distance < world_size - 1
# On two ranks the loop never runs.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    distance = 1
    while distance < world_size - 1:
        send(total, rank ^ distance)
        total += receive(rank ^ distance)
        distance *= 2
    return total
