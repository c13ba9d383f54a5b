# Source: a loop over chunk numbers
# The loop runs over the chunks, and not over the steps.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = [chunk.clone() for chunk in tensor.reshape(-1).tensor_split(world_size)]
    order = [(rank - step) % world_size for step in range(1, world_size + 1)]
    for out, into in zip(order, order[1:]):
        send(chunks[out], (rank + 1) % world_size)
        chunks[into] += receive((rank - 1) % world_size)
    return chunks[rank]
