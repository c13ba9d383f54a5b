# Source: chunks that are replaced
# A list of chunks, put together at the end.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[rank - step], right)
        chunks[rank - step - 1] = chunks[rank - step - 1] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size], right)
        chunks[rank - step] = receive(left)
    return torch.cat(chunks).reshape(tensor.shape)
