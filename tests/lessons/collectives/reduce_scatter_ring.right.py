# %% answer="countdown"
# Source: a loop over chunk numbers
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = [chunk.clone() for chunk in tensor.reshape(-1).tensor_split(world_size)]
    order = [(rank - step) % world_size for step in range(1, world_size + 1)]
    for out, into in zip(order, order[1:]):
        send(chunks[out], (rank + 1) % world_size)
        chunks[into] += receive((rank - 1) % world_size)
    return chunks[rank]


# %% answer="in_place"
# Source: a copy, and views of it
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    chunks = total.view(-1).tensor_split(world_size)
    for step in range(1, world_size):
        send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
        chunks[(rank - step - 1) % world_size].add_(receive((rank - 1) % world_size))
    return chunks[rank]


# %% answer="renumbered"
# Source: chunks in another order
# The list of chunks is turned, so that the ring's own numbers hold.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    parts = tensor.flatten().tensor_split(world_size)
    chunks = [parts[(number - 1) % world_size] for number in range(world_size)]
    for step in range(world_size - 1):
        send(chunks[rank - step], (rank + 1) % world_size)
        chunks[rank - step - 1] = chunks[rank - step - 1] + receive((rank - 1) % world_size)
    return chunks[(rank + 1) % world_size]
