# %% answer="plain_baseline" code="through_a_root"
# Source: the naive all-reduce of the lesson
# The sum is made on rank 0 and sent to all.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    if rank > 0:
        send(tensor, 0)
        return receive(0)
    total = tensor.clone()
    for other in range(1, world_size):
        total += receive(other)
    for other in range(1, world_size):
        send(total, other)
    return total


# %% answer="hard_coded" code="raised_key_error" seed=20011
# Source: the sizes of the visible case
# Because: the dictionary has the visible sizes only, and Python names the size that is missing.
# The rounds are looked up by the number of elements.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    for bit in range({7: 2, 18: 3, 36: 2, 12: 1}[tensor.numel()]):
        send(total, rank ^ 2**bit)
        total += receive(rank ^ 2**bit)
    return total


# %% answer="copied_from_lesson" code="tree_used"
# Source: the tree of the lesson, pasted
# Up the tree and down again.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
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
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    dist.all_reduce(total)
    return total


# %% answer="chunked" code="direct_reduce_scatter"
# Source: survey of published courses: a function called butterfly_allreduce
# Direct reduce-scatter and all-gather: each rank sends one chunk to each other rank.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    chunks = list(tensor.flatten().tensor_split(world_size))
    others = [other for other in range(world_size) if other != rank]
    for other in others:
        send(chunks[other], other)
    own = chunks[rank].clone()
    for other in others:
        own += receive(other)
    for other in others:
        send(own, other)
    return torch.cat([own if other == rank else receive(other) for other in range(world_size)]).view_as(tensor)


# %% answer="everybody_to_everybody" code="everybody_to_everybody"
# Source: a mesh
# Each rank sends its tensor to all others, which add in the order of ranks.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    for other in range(world_size):
        if other != rank:
            send(tensor, other)
    tensors = [tensor if other == rank else receive(other) for other in range(world_size)]
    return torch.stack(tensors).sum(dim=0)


# %% edit="first_round_missing" code="first_round_missing"
# Source: distances that begin with 2
# Neighbours never meet.
#       total = tensor.clone()
# -     distance = 1
# +     distance = 2

# %% edit="input_changed" code="input_changed"
# Source: in-place addition without a copy
# The input becomes the sum.
#           raise ValueError(f"{world_size} ranks are no power of two")
# -     total = tensor.clone()
# +     total = tensor

# %% edit="last_round_missing" code="last_round_missing"
# Source: a loop bound that is one doubling short
# The two halves of the ranks never meet.
#       distance = 1
# -     while distance < world_size:
# +     while 2 * distance < world_size:

# %% edit="mean" code="divided_too_often"
# Source: averaging of gradients
# The sum is divided by the number of ranks.
#           distance *= 2
# -     return total
# +     return total / world_size


# %% answer="step_for_power" code="names_itself"
# Source: the number of the round taken for the distance
# Partner 0 away: the rank itself.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    total = tensor.clone()
    for step in range(world_size.bit_length() - 1):
        send(total, rank ^ step)
        total += receive(rank ^ step)
    return total


# %% edit="bound_included" code="names_no_rank"
# Source: <= for <
# The loop goes on to a partner that is not there.
#       distance = 1
# -     while distance < world_size:
# +     while distance <= world_size:

# %% edit="stops_before_two" code="nothing_sent"
# Source: while distance < world_size - 1
# On two ranks the loop never runs.
#       distance = 1
# -     while distance < world_size:
# +     while distance < world_size - 1:


# %% edit="other_ranks_not_refused" code="other_ranks_not_refused"
# Source: the given line deleted
# -     if world_size & (world_size - 1):
# -         raise ValueError(f"{world_size} ranks are no power of two")
#       total = tensor.clone()

# %% edit="overwritten" code="overwritten"
# Source: assignment for addition
# What is received replaces what is there.
#           send(total, rank ^ distance)
# -         total += receive(rank ^ distance)
# +         total = receive(rank ^ distance)

# %% edit="sum_not_kept" code="own_tensor_returned"
# Source: an expression where an assignment was meant
# What is received is added, and the result is not kept.
#           send(total, rank ^ distance)
# -         total += receive(rank ^ distance)
# +         total + receive(rank ^ distance)

# %% edit="own_tensor_sent" code="own_tensor_sent"
# Source: what is sent after the first round
# Each round sends the rank's own tensor.
#       while distance < world_size:
# -         send(total, rank ^ distance)
# +         send(tensor, rank ^ distance)

# %% edit="shifted_partner" code="partners_not_mutual"
# Source: dissemination: to rank + d, from rank - d
# Right sums in an order that differs from rank to rank.
#       while distance < world_size:
# -         send(total, rank ^ distance)
# -         total += receive(rank ^ distance)
# +         send(total, (rank + distance) % world_size)
# +         total += receive((rank - distance) % world_size)

# %% edit="received_first" code="received_before_sent"
# Source: the order in which one thinks of a swap
# Each rank waits for its partner before it sends: all wait for ever.
#       while distance < world_size:
# +         received = receive(rank ^ distance)
#           send(total, rank ^ distance)
# -         total += receive(rank ^ distance)
# +         total += received


# %% answer="refused_too_late" code="refused_too_late"
# Source: the given line moved to the end
# Messages are under way before the ValueError.
def all_reduce_butterfly(tensor, rank: int, world_size: int, send, receive):
    total, distance = tensor.clone(), 1
    while distance < world_size:
        if rank ^ distance < world_size:
            send(total, rank ^ distance)
            total += receive(rank ^ distance)
        distance *= 2
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    return total


# %% edit="every_distance" code="round_too_many"
# Source: distances that grow by one
# Distances 1, 2, 3 and so on, instead of 1, 2, 4.
#           total += receive(rank ^ distance)
# -         distance *= 2
# +         distance += 1

# %% edit="tree_partners" code="partner_waits_for_another"
# Source: the partners of the tree, which only works for the lower rank of a pair
#       while distance < world_size:
# -         send(total, rank ^ distance)
# -         total += receive(rank ^ distance)
# +         partner = rank + distance if rank % (2 * distance) == 0 else rank - distance
# +         send(total, partner % world_size)
# +         total += receive(partner % world_size)
