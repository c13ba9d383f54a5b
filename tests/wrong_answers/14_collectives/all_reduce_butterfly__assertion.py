# Source: assert
# The number of ranks is asserted, which is another exception.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    assert not world_size & (world_size - 1), f"{world_size} ranks are no power of two"
    total = tensor.clone()
    distance = 1
    while distance < world_size:
        send(total, rank ^ distance)
        total += receive(rank ^ distance)
        distance *= 2
    return total
