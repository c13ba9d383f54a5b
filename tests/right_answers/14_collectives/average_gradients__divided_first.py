# Source: each rank divides what it gives
# The division comes before the sum.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    own = tensor.flatten() / world_size
    chunks = list(own.tensor_split(world_size))
    for step in range(2 * (world_size - 1)):
        send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
        received, place = receive((rank - 1) % world_size), (rank - step - 1) % world_size
        chunks[place] = chunks[place] + received if step < world_size - 1 else received
    return torch.cat(chunks).reshape_as(tensor)
