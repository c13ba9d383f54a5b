# Source: the first half of the ring, as it is
# The ring finishes chunk r + 1 on rank r, and chunk r is returned.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = tensor.clone().flatten().tensor_split(world_size)
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
        chunks[(rank - step - 1) % world_size].add_(receive((rank - 1) % world_size))
    return chunks[rank]
