# Source: in-place addition into views
# The input holds partial sums afterwards.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = tensor.view(-1).tensor_split(world_size)
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step - 1) % world_size], right)
        chunks[(rank - step - 2) % world_size].add_(receive(left))
    return chunks[rank].clone()
