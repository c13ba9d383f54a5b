# %% answer="plain_baseline" code="through_a_root"
# Source: the naive all-reduce of the lesson
# The sum is made on rank 0 and sent to all.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    if rank > 0:
        send(tensor, 0)
        return receive(0)
    total = tensor.clone()
    for other in range(1, world_size):
        total += receive(other)
    for other in range(1, world_size):
        send(total, other)
    return total


# %% edit="hard_coded" code="raised_key_error" seed=20011
# Source: the sizes of the visible case
# Because: the dictionary has the visible sizes only, and Python names the size that is missing.
# The lengths of chunks are looked up by the number of elements.
#       total = tensor.clone()
# -     chunks = total.view(-1).tensor_split(world_size)  # views: what changes them changes the total
# +     chunks = total.view(-1).split(
# +         {16: [4, 4, 4, 4], 14: [4, 4, 3, 3], 45: [12, 11, 11, 11], 4: [1, 1, 1, 1, 0], 32: [7, 7, 6, 6, 6], 6: [6]}[
# +             tensor.numel()
# +         ]
# +     )


# %% answer="copied_from_lesson" code="tree_used"
# Source: the tree of the lesson, pasted
# Up the tree and down again.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total, distance = tensor.clone(), 1
    while distance < world_size and rank % (2 * distance) == 0:
        if rank + distance < world_size:
            total += receive(rank + distance)
        distance *= 2
    if rank > 0:
        send(total, rank - distance)
        total = receive(rank - distance)
    while distance > 1:
        distance //= 2
        if rank + distance < world_size:
            send(total, rank + distance)
    return total


# %% answer="library_shortcut" code="library_collective"
# Source: torch.distributed
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    dist.all_reduce(total)
    return total


# %% edit="added_in_second_half" code="added_in_second_half"
# Source: the first loop, written twice
# Finished chunks are added instead of put in place.
#           send(chunks[(rank - step + 1) % world_size], right)
# -         chunks[(rank - step) % world_size].copy_(receive(left))
# +         chunks[(rank - step) % world_size].add_(receive(left))


# %% edit="chunk_for_split" code="chunk_for_tensor_split"
# Source: torch.chunk
# Fewer elements than ranks give fewer chunks than ranks.
#       total = tensor.clone()
# -     chunks = total.view(-1).tensor_split(world_size)  # views: what changes them changes the total
# +     chunks = total.view(-1).chunk(world_size)

# %% edit="forward" code="chunks_forward"
# Source: a plus for a minus
# Chunk numbers go up instead of down.
#       for step in range(world_size - 1):
# -         send(chunks[(rank - step) % world_size], right)
# -         chunks[(rank - step - 1) % world_size].add_(receive(left))
# +         send(chunks[(rank + step) % world_size], right)
# +         chunks[(rank + step - 1) % world_size].add_(receive(left))
#       for step in range(world_size - 1):
# -         send(chunks[(rank - step + 1) % world_size], right)
# -         chunks[(rank - step) % world_size].copy_(receive(left))
# +         send(chunks[(rank + step + 1) % world_size], right)
# +         chunks[(rank + step) % world_size].copy_(receive(left))

# %% edit="input_changed" code="input_changed"
# Source: views of the input
# The chunks are views of the gradient that was handed over.
# -     total = tensor.clone()
# +     total = tensor
#       chunks = total.view(-1).tensor_split(world_size)  # views: what changes them changes the total

# %% edit="extra_step" code="messages_too_many"
# Source: range(world_size) in the second loop
# One step more than needed: the sums are right, the messages are not.
#           chunks[(rank - step - 1) % world_size].add_(receive(left))
# -     for step in range(world_size - 1):
# +     for step in range(world_size):


# %% answer="list_replaced" code="others_chunks_not_put_in"
# Source: a list of views whose entries are replaced
# The finished chunks go into the list, and the tensor that is returned never sees them.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    chunks = list(total.view(-1).tensor_split(world_size))
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size], right)
        chunks[(rank - step - 1) % world_size] += receive(left)
    for step in range(world_size - 1):
        send(chunks[(rank - step + 1) % world_size], right)
        chunks[(rank - step) % world_size] = receive(left)
    return total


# %% edit="overwritten" code="overwritten_in_first_half"
# Source: assignment for addition
# The first loop replaces what is there.
#           send(chunks[(rank - step) % world_size], right)
# -         chunks[(rank - step - 1) % world_size].add_(receive(left))
# +         chunks[(rank - step - 1) % world_size].copy_(receive(left))

# %% edit="received_first" code="received_before_sent"
# Source: the order of a pipeline
# Each rank waits for its left neighbour before it sends: all wait for ever.
# +         received = receive(left)
#           send(chunks[(rank - step) % world_size], right)
# -         chunks[(rank - step - 1) % world_size].add_(receive(left))
# +         chunks[(rank - step - 1) % world_size].add_(received)

# %% edit="rest_left_out" code="rest_left_out"
# Source: a whole number of elements for each rank
# The elements after the last full chunk are not summed.
#       total = tensor.clone()
# -     chunks = total.view(-1).tensor_split(world_size)  # views: what changes them changes the total
# +     width = tensor.numel() // world_size
# +     chunks = total.view(-1)[: width * world_size].view(world_size, width)


# %% edit="rows_shared_out" code="rows_shared_out"
# Source: tensor_split without flatten
#       total = tensor.clone()
# -     chunks = total.view(-1).tensor_split(world_size)  # views: what changes them changes the total
# +     chunks = total.tensor_split(world_size)

# %% edit="second_half_missing" code="second_half_missing"
# Source: a reduce-scatter
# The finished chunks are not passed on.
#           chunks[(rank - step - 1) % world_size].add_(receive(left))
# -     for step in range(world_size - 1):
# -         send(chunks[(rank - step + 1) % world_size], right)
# -         chunks[(rank - step) % world_size].copy_(receive(left))

# %% edit="second_half_shifted" code="second_half_shifted"
# Source: the second loop begins at the own chunk's left
# The second loop sends chunk rank - 1 first.
#       for step in range(world_size - 1):
# -         send(chunks[(rank - step + 1) % world_size], right)
# -         chunks[(rank - step) % world_size].copy_(receive(left))
# +         send(chunks[(rank - step + 2) % world_size], right)
# +         chunks[(rank - step + 1) % world_size].copy_(receive(left))

# %% edit="second_half_too_short" code="loop_too_short"
# Source: range(world_size - 2)
# One step too few in the second loop.
#           chunks[(rank - step - 1) % world_size].add_(receive(left))
# -     for step in range(world_size - 1):
# +     for step in range(world_size - 2):

# %% edit="added_to_sent" code="sums_do_not_travel"
# Source: one chunk number for both lines
# What comes in is added to the chunk that was sent.
#           send(chunks[(rank - step) % world_size], right)
# -         chunks[(rank - step - 1) % world_size].add_(receive(left))
# +         chunks[(rank - step) % world_size].add_(receive(left))


# %% answer="whole_tensors" code="tensor_not_chunked"
# Source: survey of published courses: the alternate ring
# Whole tensors go round: (N - 1) S instead of 2 (N - 1) / N S.
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total, passing = tensor.clone(), tensor
    for _ in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size)
        total += passing
    return total


# %% edit="flat" code="wrong_shape"
# Source: chunks put together
# The shape of the tensor is lost.
#           chunks[(rank - step) % world_size].copy_(receive(left))
# -     return total
# +     return torch.cat(chunks)

# %% edit="barrier" code="barrier_used"
# Source: a barrier between the two halves, to be safe
#           chunks[(rank - step - 1) % world_size].add_(receive(left))
# +     dist.barrier()

# %% edit="rest_in_the_last_chunk" code="chunks_uneven"
# Source: a division without a rest, and the last rank takes what is left
#       total = tensor.clone()
# -     chunks = total.view(-1).tensor_split(world_size)  # views: what changes them changes the total
# +     size = total.numel() // world_size
# +     chunks = total.view(-1).split([size] * (world_size - 1) + [total.numel() - size * (world_size - 1)])

# %% edit="reversed" code="ring_reversed"
# Source: drawings of rings that turn to the left
# -     right, left = (rank + 1) % world_size, (rank - 1) % world_size
# -     for step in range(world_size - 1):
# -         send(chunks[(rank - step) % world_size], right)
# -         chunks[(rank - step - 1) % world_size].add_(receive(left))
# -     for step in range(world_size - 1):
# -         send(chunks[(rank - step + 1) % world_size], right)
# -         chunks[(rank - step) % world_size].copy_(receive(left))
# +     right, left = (rank + 1) % world_size, (rank - 1) % world_size
# +     for step in range(world_size - 1):
# +         send(chunks[(rank + step) % world_size], left)
# +         chunks[(rank + step + 1) % world_size].add_(receive(right))
# +     for step in range(world_size - 1):
# +         send(chunks[(rank + step - 1) % world_size], left)
# +         chunks[(rank + step) % world_size].copy_(receive(right))


# %% answer="butterfly" code="butterfly_used"
# Source: the exercise before
def all_reduce_ring(tensor, rank: int, world_size: int, send, receive):
    total = tensor.clone()
    distance = 1
    while distance < world_size:
        send(total, rank ^ distance)
        total += receive(rank ^ distance)
        distance *= 2
    return total
