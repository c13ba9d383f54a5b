# %% answer="divided_first"
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


# %% answer="finished_chunk_divided"
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


# %% answer="padded"
# Source: equal chunks
# The tensor is padded to a multiple of the ranks.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    width = -(-tensor.numel() // world_size)
    padded = torch.nn.functional.pad(tensor.flatten(), (0, world_size * width - tensor.numel())).view(world_size, width)
    padded = padded.clone()
    for step in range(2 * (world_size - 1)):
        send(padded[(rank - step) % world_size], (rank + 1) % world_size)
        received, place = receive((rank - 1) % world_size), (rank - step - 1) % world_size
        padded[place] = received + padded[place] if step < world_size - 1 else received
    return (padded.flatten()[: tensor.numel()] / world_size).view(tensor.shape)
