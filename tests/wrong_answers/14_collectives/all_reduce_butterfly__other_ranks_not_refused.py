# Source: the given line deleted
# Three ranks are not refused.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    distance = 1
    while distance < world_size:
        send(total, rank ^ distance)
        total += receive(rank ^ distance)
        distance *= 2
    return total
