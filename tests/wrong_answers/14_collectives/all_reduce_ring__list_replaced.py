# Source: a list of views whose entries are replaced
# The finished chunks go into the list, and the tensor that is returned never sees them.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    chunks = list(total.view(-1).tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        chunks[(rank - step - 1) % world_size] += receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return total
