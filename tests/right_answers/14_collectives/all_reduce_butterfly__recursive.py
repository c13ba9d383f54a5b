# Source: a function that calls itself
# The sum over a group is that of its half, swapped with the other half's.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")

    def sum_of_group(size):
        if size == 1:
            return tensor.clone()
        own = sum_of_group(size // 2)
        send(own, rank ^ (size // 2))
        return own + receive(rank ^ (size // 2))

    return sum_of_group(world_size)
