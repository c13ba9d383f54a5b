# Source: a mesh
# Each rank sends its tensor to all others, which add in the order of ranks.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    for other in range(world_size):
        if other != rank:
            send(tensor, other)
    tensors = [tensor if other == rank else receive(other) for other in range(world_size)]
    return torch.stack(tensors).sum(dim=0)
