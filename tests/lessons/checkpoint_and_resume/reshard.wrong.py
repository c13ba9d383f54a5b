# Wrong answers to reshard.
# Not here: library_shortcut, because no library loads a share through `read`.

# %% answer="plain_baseline" code="everything_read"
# Source: gather everything, then cut
def reshard(read, elements, old_ranks, ranks, rank):
    old_length, length = -(-elements // old_ranks), -(-elements // ranks)
    whole = torch.cat([read(old_rank, 0, old_length) for old_rank in range(old_ranks)])[:elements]
    share = torch.zeros(length)
    own = whole[rank * length : (rank + 1) * length]
    share[: len(own)] = own
    return share


# %% answer="copied_from_lesson" code="saved_files_joined"
# Source: "each rank has to take over what two others wrote"
def reshard(read, elements, old_ranks, ranks, rank):
    old_length = -(-elements // old_ranks)
    merged = old_ranks // ranks
    return torch.cat([torch.zeros(0), *(read(rank * merged + i, 0, old_length) for i in range(merged))])


# %% answer="hard_coded" code="saved_files_joined" seed=20011
# Source: two files for each of two ranks
def reshard(read, elements, old_ranks, ranks, rank):
    length = -(-elements // old_ranks)
    first = rank * old_ranks // ranks
    last = (rank + 1) * old_ranks // ranks
    return torch.cat([torch.zeros(0)] + [read(old, 0, length) for old in range(first, last)])


# %% answer="whole_shares_cut" code="whole_shares_read"
# Source: files are read whole
def reshard(read, elements, old_ranks, ranks, rank):
    old_length, length = -(-elements // old_ranks), -(-elements // ranks)
    first, last = rank * length, min(elements, (rank + 1) * length)
    share = torch.zeros(length)
    for old_rank in range(old_ranks):
        begin, end = max(first, old_rank * old_length), min(last, (old_rank + 1) * old_length)
        if begin < end:
            whole = read(old_rank, 0, old_length)
            share[begin - first : end - first] = whole[begin - old_rank * old_length : end - old_rank * old_length]
    return share


# %% edit="padding_read" code="padding_read"
# Source: the end of the vector forgotten
# -     place, end = rank * length, min((rank + 1) * length, elements)
# +     place, end = rank * length, min((rank + 1) * length, old_ranks * old_length)

# %% edit="rounded_down" code="last_elements_lost"
# Source: floor division
# -     length = -(-elements // ranks)
# +     length = elements // ranks

# %% edit="old_rounded_down" code="no_such_rank"
# Source: floor division
# -     old_length = -(-elements // old_ranks)
# +     old_length = elements // old_ranks

# %% edit="padding_split" code="padding_split"
# Source: the new shares made of the old ones
# -     length = -(-elements // ranks)
# +     length = -(-old_length * old_ranks // ranks)

# %% edit="old_length" code="length_of_the_old_shares"
# Source: one length for both
# -     length = -(-elements // ranks)
# +     length = old_length

# %% edit="one_owner" code="first_owner_only"
# Source: a share assumed to lie in one file
# -     while place < end:
# +     if place < end:

# %% edit="places_of_the_vector" code="no_such_place"
# Source: one place for the vector and for the saved share
# -         share[place - rank * length :][: stop - start] = read(old_rank, start, stop)
# +         share[place - rank * length :][: stop - start] = read(old_rank, place, place + stop - start)

# %% edit="too_short" code="not_padded"
# Source: padding forgotten
# -     return share
# +     return share[: max(0, elements - rank * length)]


# %% answer="split_as_numpy_does" code="longer_shares_first"
# Source: numpy.array_split, torch.tensor_split
def reshard(read, elements, old_ranks, ranks, rank):
    old_length = -(-elements // old_ranks)
    own = torch.arange(elements).tensor_split(ranks)[rank].tolist()
    return torch.cat(
        [torch.zeros(0), *(read(place // old_length, place % old_length, place % old_length + 1) for place in own)]
    )
