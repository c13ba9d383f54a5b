# Source: a slice
# Each rank returns its own numbers of its chunk.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    return tensor.flatten().tensor_split(world_size)[rank].clone()
