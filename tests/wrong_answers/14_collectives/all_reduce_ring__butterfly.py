# Source: the second exercise, where it fits
# Recursive doubling on powers of two, a ring of whole tensors elsewhere.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    if world_size & (world_size - 1):
        passing = tensor
        for _ in range(world_size - 1):
            send(passing, (rank + 1) % world_size)
            passing = receive((rank - 1) % world_size)
            total += passing
        return total
    distance = 1
    while distance < world_size:
        send(total, rank ^ distance)
        total += receive(rank ^ distance)
        distance *= 2
    return total
