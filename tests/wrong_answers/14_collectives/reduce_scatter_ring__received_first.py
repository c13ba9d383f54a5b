# Source: the order of a pipeline
# Each rank waits before it sends.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = tensor.flatten().tensor_split(world_size)
    passing = chunks[(rank - 1) % world_size]
    for step in range(world_size - 1):
        received = receive((rank - 1) % world_size)
        send(passing, (rank + 1) % world_size)
        passing = received + chunks[(rank - step - 2) % world_size]
    return passing
