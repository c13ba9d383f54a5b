# Source: survey of published courses: a function called butterfly_allreduce
# Direct reduce-scatter and all-gather: each rank sends one chunk to each other rank.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    chunks = list(tensor.flatten().tensor_split(world_size))
    others = [other for other in range(world_size) if other != rank]
    for other in others:
        send(chunks[other], other)
    own = chunks[rank].clone()
    for other in others:
        own += receive(other)
    for other in others:
        send(own, other)
    return torch.cat([own if other == rank else receive(other) for other in range(world_size)]).view_as(tensor)
