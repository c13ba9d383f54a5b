# Source: fear of a deadlock
# The lower rank sends first, and the higher one waits before it answers.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    distance = 1
    while distance < world_size:
        partner = rank ^ distance
        if rank < partner:
            send(total, partner)
            total = total + receive(partner)
        else:
            received = receive(partner)
            send(total, partner)
            total = total + received
        distance *= 2
    return total
