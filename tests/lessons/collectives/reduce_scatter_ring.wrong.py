# %% answer="plain_baseline" code="through_a_root"
# Source: the naive all-reduce, and a slice of it
# The whole sum is made on rank 0.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    if rank > 0:
        send(tensor, 0)
        return receive(0).flatten().tensor_split(world_size)[rank]
    total = tensor.clone()
    for other in range(1, world_size):
        total += receive(other)
    for other in range(1, world_size):
        send(total, other)
    return total.flatten().tensor_split(world_size)[rank]


# %% edit="hard_coded" code="raised_key_error" seed=20011
# Source: the sizes of the visible case
# Because: the dictionary has the visible sizes only, and Python names the size that is missing.
# The lengths of chunks are looked up by the number of elements.
# -     chunks = tensor.flatten().tensor_split(world_size)
# +     chunks = tensor.flatten().split(
# +         {20: [7, 7, 6], 14: [4, 4, 3, 3], 45: [12, 11, 11, 11], 2: [1, 1, 0]}[tensor.numel()]
# +     )
#       passing = chunks[(rank - 1) % world_size]


# %% answer="copied_from_lesson" code="tensor_not_chunked"
# Source: the ring without chunks of the lesson, and a slice of it
# Whole tensors go round.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    total, passing = tensor.clone(), tensor
    for _ in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size)
        total += passing
    return total.flatten().tensor_split(world_size)[rank]


# %% answer="library_shortcut" code="library_collective"
# Source: torch.distributed
# The library adds up.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    dist.all_reduce(total)
    return total.flatten().tensor_split(world_size)[rank]


# %% edit="chunk_for_split" code="chunk_for_tensor_split"
# Source: torch.chunk
# The last chunk is shorter than the others by more than one element.
# -     chunks = tensor.flatten().tensor_split(world_size)
# +     chunks = tensor.flatten().chunk(world_size)
#       passing = chunks[(rank - 1) % world_size]

# %% edit="rows_kept" code="chunk_not_flat"
# Source: the tensor is split along its rows
# Chunks are rows, and not elements.
# -     chunks = tensor.flatten().tensor_split(world_size)
# +     chunks = tensor.tensor_split(world_size)
#       passing = chunks[(rank - 1) % world_size]


# %% answer="input_changed" code="input_changed"
# Source: in-place addition into views
# The input holds partial sums afterwards.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = tensor.view(-1).tensor_split(world_size)
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step - 1) % world_size], right)
        chunks[(rank - step - 2) % world_size].add_(receive(left))
    return chunks[rank].clone()


# %% edit="one_step_long" code="other_number_of_steps"
# Source: range(world_size)
# One step more: each chunk goes on to the next rank.
#       passing = chunks[(rank - 1) % world_size]
# -     for step in range(world_size - 1):
# +     for step in range(world_size):


# %% answer="neighbours_chunk" code="neighbours_chunk"
# Source: the first half of the ring as it is
# Rank r ends with chunk r + 1.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = tensor.flatten().tensor_split(world_size)
    passing = chunks[rank]
    for step in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size) + chunks[(rank - step - 1) % world_size]
    return passing


# %% edit="overwritten" code="overwritten"
# Source: nothing is added
# The chunks only travel.
#           send(passing, (rank + 1) % world_size)
# -         passing = receive((rank - 1) % world_size) + chunks[(rank - step - 2) % world_size]
# +         passing = receive((rank - 1) % world_size)

# %% edit="received_first" code="received_before_sent"
# Source: the order of a pipeline
# Each rank waits before it sends.
#       for step in range(world_size - 1):
# +         received = receive((rank - 1) % world_size)
#           send(passing, (rank + 1) % world_size)
# -         passing = receive((rank - 1) % world_size) + chunks[(rank - step - 2) % world_size]
# +         passing = received + chunks[(rank - step - 2) % world_size]

# %% edit="steps_of_four" code="steps_of_four_ranks"
# Source: range(3)
# The loop has the steps of 4 ranks.
#       passing = chunks[(rank - 1) % world_size]
# -     for step in range(world_size - 1):
# +     for step in range(3):


# %% answer="unfinished_chunk" code="unfinished_chunk_returned"
# Source: the first half of the ring, as it is
# The ring finishes chunk r + 1 on rank r, and chunk r is returned.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    chunks = tensor.clone().flatten().tensor_split(world_size)
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
        chunks[(rank - step - 1) % world_size].add_(receive((rank - 1) % world_size))
    return chunks[rank]


# %% answer="whole_sum_made" code="whole_sum_made"
# Source: an all-reduce, and a slice of it
# The second half of the ring is done for nothing.
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    chunks = total.view(-1).tensor_split(world_size)
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        chunks[(rank - step - 1) % world_size].add_(receive(left))
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size].copy_(receive(left))
    return chunks[rank]


# %% answer="whole_sum_returned" code="whole_tensor_returned"
# Source: a ring to the end
def reduce_scatter_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    chunks = total.view(-1).tensor_split(world_size)
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        chunks[(rank - step - 1) % world_size].add_(receive(left))
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size].copy_(receive(left))
    return total
