# Source: a copy, and views of it
# Chunks of a copy, added to in place.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    chunks = total.view(-1).tensor_split(world_size)
    for step in range(1, world_size):
        send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
        chunks[(rank - step - 1) % world_size].add_(receive((rank - 1) % world_size))
    return chunks[rank]
