# Source: the remainder given to the last rank
# The last chunk is longer than the others by up to N - 1 elements.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    width = tensor.numel() // world_size
    chunks = total.view(-1).tensor_split([width * part for part in range(1, world_size)])
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        chunks[(rank - step - 1) % world_size].add_(receive(left))
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size].copy_(receive(left))
    return total
