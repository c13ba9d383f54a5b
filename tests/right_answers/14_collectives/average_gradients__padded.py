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
