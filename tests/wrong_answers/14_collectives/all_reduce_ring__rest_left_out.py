# Source: a whole number of elements for each rank
# The elements after the last full chunk are not summed.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    width = tensor.numel() // world_size
    chunks = total.view(-1)[: width * world_size].view(world_size, width)
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        chunks[(rank - step - 1) % world_size].add_(receive(left))
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size].copy_(receive(left))
    return total
