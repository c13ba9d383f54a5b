# Source: the function of the bug hunt, as it stands
# All four faults.
def average_gradients(tensor, rank, world_size, send, receive):
    pieces = list(tensor.flatten().split(tensor.numel() // world_size))
    following, previous = (rank + 1) % world_size, (rank - 1) % world_size
    for i in range(world_size - 1):
        send(pieces[(rank - i) % world_size], following)
        pieces[(rank - i - 1) % world_size] += receive(previous)
    for i in range(world_size - 1):
        send(pieces[(rank - i + 1) % world_size], following)
        pieces[(rank - i) % world_size] += receive(previous)
    return torch.cat(pieces) / len(pieces)
