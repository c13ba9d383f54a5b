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
