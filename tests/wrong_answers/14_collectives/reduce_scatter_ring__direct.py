# Source: a direct reduce-scatter
# Each rank sends a chunk to each other rank.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = tensor.flatten().tensor_split(world_size)
    others = [other for other in range(world_size) if other != rank]
    for other in others:
        send(chunks[other], other)
    return chunks[rank] + sum(receive(other) for other in others)
