# Source: the number of the round taken for the distance
# Partner 0 away: the rank itself.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    for step in range(world_size.bit_length() - 1):
        send(total, rank ^ step)
        total += receive(rank ^ step)
    return total
