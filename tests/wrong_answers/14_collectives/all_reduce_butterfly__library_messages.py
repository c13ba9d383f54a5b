# Source: dist.send and dist.recv
# The messages of the library stand for those of the lesson.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    distance = 1
    while distance < world_size:
        received, sending = torch.empty_like(total), dist.isend(total.clone(), rank ^ distance)
        dist.recv(received, rank ^ distance)
        sending.wait()
        total += received
        distance *= 2
    return total
