# Source: torch.distributed
# The library adds up.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    dist.all_reduce(total)
    return total / world_size
