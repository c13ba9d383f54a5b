# Source: NVIDIA's and others' habit: equal chunks
# The tensor is padded to a multiple of the ranks.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    width = -(-tensor.numel() // world_size)
    padded = tensor.new_zeros(world_size * width)
    padded[: tensor.numel()] = tensor.flatten()
    chunks = padded.view(world_size, width)
    for step in range(2 * (world_size - 1)):
        send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
        received, place = receive((rank - 1) % world_size), (rank - step - 1) % world_size
        chunks[place] = chunks[place] + received if step < world_size - 1 else received
    return padded[: tensor.numel()].view(tensor.shape)
