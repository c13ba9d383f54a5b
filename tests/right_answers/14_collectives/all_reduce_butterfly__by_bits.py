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
