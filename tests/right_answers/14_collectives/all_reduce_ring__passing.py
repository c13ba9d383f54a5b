# Source: one chunk in the hand
# The chunk that came in is the one that goes out next.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    chunks = total.view(-1).tensor_split(world_size)
    passing, place = chunks[rank], rank
    for step in range(2 * (world_size - 1)):
        send(passing, (rank + 1) % world_size)
        passing, place = receive((rank - 1) % world_size), (place - 1) % world_size
        if step < world_size - 1:
            passing = passing + chunks[place]
        chunks[place].copy_(passing)
    return total
