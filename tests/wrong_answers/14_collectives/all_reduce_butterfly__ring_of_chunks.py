# Source: the third exercise's algorithm
# A ring, which needs more rounds.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    chunks = total.view(-1).tensor_split(world_size)
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
        chunks[(rank - step - 1) % world_size].add_(receive((rank - 1) % world_size))
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], (rank + 1) % world_size)
        chunks[(rank - step) % world_size].copy_(receive((rank - 1) % world_size))
    return total
