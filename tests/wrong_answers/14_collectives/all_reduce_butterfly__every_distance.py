# Source: distances that grow by one
# Distances 1, 2, 3 and so on, instead of 1, 2, 4.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    distance = 1
    while distance < world_size:
        send(total, rank ^ distance)
        total += receive(rank ^ distance)
        distance += 1
    return total
