# Source: each rank divides the chunk that it finished
# One division for each chunk, between the two halves.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    mean = tensor.clone()
    chunks = mean.view(-1).tensor_split(world_size)
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        chunks[(rank - step - 1) % world_size].add_(receive(left))
    chunks[right].div_(world_size)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size].copy_(receive(left))
    return mean
