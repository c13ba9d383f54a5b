# Source: a function that is not called
# Each rank returns a copy of its own tensor.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    return tensor.clone()
