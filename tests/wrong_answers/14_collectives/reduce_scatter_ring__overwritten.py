# Source: nothing is added
# The chunks only travel.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = tensor.flatten().tensor_split(world_size)
    passing = chunks[(rank - 1) % world_size]
    for step in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size)
    return passing
