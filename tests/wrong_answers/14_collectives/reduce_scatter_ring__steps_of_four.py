# Source: range(3)
# The loop has the steps of 4 ranks.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = tensor.flatten().tensor_split(world_size)
    passing = chunks[(rank - 1) % world_size]
    for step in range(3):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size) + chunks[(rank - step - 2) % world_size]
    return passing
