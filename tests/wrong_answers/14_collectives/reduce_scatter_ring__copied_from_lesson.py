# Source: the ring without chunks of the lesson, and a slice of it
# Whole tensors go round.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    total, passing = tensor.clone(), tensor
    for _ in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size)
        total += passing
    return total.flatten().tensor_split(world_size)[rank]
