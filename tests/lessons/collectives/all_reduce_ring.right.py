# %% answer="empty_chunks_left_out"
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


# %% answer="list_of_chunks"
# Source: chunks that are replaced
# A list of chunks, put together at the end.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[rank - step], right)
        chunks[rank - step - 1] = chunks[rank - step - 1] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size], right)
        chunks[rank - step] = receive(left)
    return torch.cat(chunks).reshape(tensor.shape)


# %% answer="own_chunk_finishes"
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


# %% answer="padded"
# Source: NVIDIA's and others' habit: equal chunks
# The tensor is padded to a multiple of the ranks.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    width = -(-tensor.numel() // world_size)
    padded = tensor.new_zeros(world_size * width)
    padded[: tensor.numel()] = tensor.flatten()
    chunks = padded.view(world_size, width)
    for step in range(2 * (world_size - 1)):
        send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
        received, place = receive((rank - 1) % world_size), (rank - step - 1) % world_size
        chunks[place] = chunks[place] + received if step < world_size - 1 else received
    return padded[: tensor.numel()].view(tensor.shape)


# %% answer="passing"
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


# %% answer="strided"
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    flat = tensor.flatten().clone()
    for step in range(2 * (world_size - 1)):
        send(flat[(rank - step) % world_size :: world_size].contiguous(), (rank + 1) % world_size)
        mine = flat[(rank - step - 1) % world_size :: world_size]
        received = receive((rank - 1) % world_size)
        mine.copy_(mine + received if step < world_size - 1 else received)
    return flat.view_as(tensor)
