# Source: the first half of the ring as it is
# Rank r ends with chunk r + 1.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = tensor.flatten().tensor_split(world_size)
    passing = chunks[rank]
    for step in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size) + chunks[(rank - step - 1) % world_size]
    return passing
