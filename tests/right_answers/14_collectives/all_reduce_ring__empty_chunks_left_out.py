# Source: chunks without elements are not sent
# Messages of 0 elements are left out on both ends.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    chunks = total.view(-1).tensor_split(world_size)
    for step in range(2 * (world_size - 1)):
        out, into = chunks[(rank - step) % world_size], chunks[(rank - step - 1) % world_size]
        if len(out):
            send(out, (rank + 1) % world_size)
        if len(into):
            received = receive((rank - 1) % world_size)
            into.copy_(into + received if step < world_size - 1 else received)
    return total
