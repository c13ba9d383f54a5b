# %% answer="plain_baseline" code="through_a_root"
# Source: the naive all-reduce, divided
# The mean is made on rank 0.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    if rank > 0:
        send(tensor, 0)
        return receive(0) / world_size
    total = tensor.clone()
    for other in range(1, world_size):
        total += receive(other)
    for other in range(1, world_size):
        send(total, other)
    return total / world_size


# %% answer="hard_coded" code="raised_key_error" seed=20011
# Source: the sizes of the visible case
# Because: the dictionary has the visible sizes only, and Python names the size that is missing.
# The lengths of chunks are looked up by the number of elements.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(
        tensor.flatten().split(
            {12: [3, 3, 3, 3], 14: [4, 4, 3, 3], 45: [12, 11, 11, 11], 2: [1, 1, 0], 26: [9, 9, 8], 5: [5]}[
                tensor.numel()
            ]
        )
    )
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = chunks[place] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor) / world_size


# %% answer="copied_from_lesson" code="added_in_second_half"
# Source: the function of the bug hunt, as it stands
# All four faults.
def average_gradients(tensor, rank, world_size, send, receive):
    pieces = list(tensor.flatten().split(tensor.numel() // world_size))
    following, previous = (rank + 1) % world_size, (rank - 1) % world_size
    for i in range(world_size - 1):
        send(pieces[(rank - i) % world_size], following)
        pieces[(rank - i - 1) % world_size] += receive(previous)
    for i in range(world_size - 1):
        send(pieces[(rank - i + 1) % world_size], following)
        pieces[(rank - i) % world_size] += receive(previous)
    return torch.cat(pieces) / len(pieces)


# %% answer="library_shortcut" code="library_collective"
# Source: torch.distributed
# The library adds up.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    dist.all_reduce(total)
    return total / world_size


# %% answer="averaged_at_each_step" code="averaged_in_pairs"
# Source: a running mean
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = (chunks[place] + receive(left)) / 2
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor)


# %% answer="averaged_twice" code="divided_too_often"
# Source: a division on the way and one at the end
# Each rank divides before it sends, and all divide at the end.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list((tensor / world_size).flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = chunks[place] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor) / world_size


# %% answer="chunk_for_split" code="chunk_for_tensor_split"
# Source: torch.chunk
# Fewer elements than ranks give fewer chunks than ranks.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().chunk(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = chunks[place] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor) / world_size


# %% answer="divided_at_each_step" code="divided_at_each_step"
# Source: receive(left) / world_size
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = chunks[place] + receive(left) / world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor) / world_size


# %% answer="own_left_out" code="divided_by_others"
# Source: divided by the others
# The sum is divided by N - 1.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = chunks[place] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor) / max(1, world_size - 1)


# %% answer="input_changed" code="input_changed"
# Source: three of four faults repaired
# += on views changes the gradient that was handed over.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        chunks[(rank - step - 1) % world_size] += receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor) / world_size


# %% answer="rounded_down" code="mean_rounded"
# Source: //
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = chunks[place] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor) // world_size


# %% answer="not_averaged" code="not_averaged"
# Source: the ring of the lesson
# The sum is returned.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = chunks[place] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor)


# %% answer="rest_left_out" code="rest_left_out"
# Source: two of four faults repaired
# Pieces of a rounded-down length: the rest is not averaged.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().split(max(1, tensor.numel() // world_size)))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = chunks[place] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks).view_as(tensor) / world_size


# %% answer="flat" code="wrong_shape"
# Source: chunks put together
# The shape of the gradient is lost.
def average_gradients(tensor, rank: int, world_size: int, send, receive):
    chunks = list(tensor.flatten().tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        place = (rank - step - 1) % world_size
        chunks[place] = chunks[place] + receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return torch.cat(chunks) / world_size
