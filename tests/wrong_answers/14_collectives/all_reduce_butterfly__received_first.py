# Source: the order in which one thinks of a swap
# Each rank waits for its partner before it sends: all wait for ever.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    distance = 1
    while distance < world_size:
        received = receive(rank ^ distance)
        send(total, rank ^ distance)
        total += received
        distance *= 2
    return total
