# Source: rank r finishes chunk r
# All chunk numbers are one lower.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone().flatten()
    bounds = [part * len(total) // world_size for part in range(world_size + 1)]

    def chunk(number):
        return total[bounds[number % world_size] : bounds[number % world_size + 1]]

    for step in range(1, world_size):
        send(chunk(rank - step), (rank + 1) % world_size)
        chunk(rank - step - 1).add_(receive((rank - 1) % world_size))
    for step in range(world_size - 1):
        send(chunk(rank - step), (rank + 1) % world_size)
        chunk(rank - step - 1).copy_(receive((rank - 1) % world_size))
    return total.view_as(tensor)
