# Source: chunks numbered anew
# The list of chunks is turned, so that the ring's own numbers hold.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    parts = tensor.flatten().tensor_split(world_size)
    chunks = [parts[(number - 1) % world_size] for number in range(world_size)]
    for step in range(world_size - 1):
        send(chunks[rank - step], (rank + 1) % world_size)
        chunks[rank - step - 1] = chunks[rank - step - 1] + receive((rank - 1) % world_size)
    return chunks[(rank + 1) % world_size]
