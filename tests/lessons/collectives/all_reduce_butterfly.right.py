# %% answer="by_bits"
# Source: one round for each bit
# A for loop over the bits of the rank's number.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor
    for bit in range(world_size.bit_length() - 1):
        partner = rank ^ (1 << bit)
        send(total, partner)
        total = total + receive(partner)
    return total if total is not tensor else tensor.clone()


# %% answer="by_halves_of_groups"
# Source: partners by arithmetic, without exclusive or
# The partner is in the other half of a group of ranks.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total, size = tensor.clone(), 2
    while size <= world_size:
        start = rank - rank % size
        partner = start + (rank - start + size // 2) % size
        send(total, partner)
        total.add_(receive(partner))
        size *= 2
    return total


# %% answer="from_far_to_near"
# Source: distances 4, 2, 1
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


# %% answer="recursive"
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
