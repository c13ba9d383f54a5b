# Source: numel()
# The sum is divided by the number of elements.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = chunks[place] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor) / tensor.numel()
