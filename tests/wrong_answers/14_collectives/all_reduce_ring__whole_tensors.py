# Source: survey of published courses: the alternate ring
# Whole tensors go round: (N - 1) S instead of 2 (N - 1) / N S.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total, passing = tensor.clone(), tensor
    for _ in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size)
        total += passing
    return total
