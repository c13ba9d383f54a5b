# Right answers to reshard.

# %% answer="number_by_number"
def reshard(read, elements, old_ranks, ranks, rank):
    old_length, length = -(-elements // old_ranks), -(-elements // ranks)
    share = torch.zeros(length)
    for place in range(rank * length, min(elements, (rank + 1) * length)):
        old_rank, start = divmod(place, old_length)
        share[place - rank * length] = read(old_rank, start, start + 1)[0]
    return share


# %% answer="overlap_with_each_old_rank"
def reshard(read, elements, old_ranks, ranks, rank):
    import math

    old_length, length = math.ceil(elements / old_ranks), math.ceil(elements / ranks)
    first, last = rank * length, min(elements, (rank + 1) * length)
    pieces = []
    for old_rank in range(old_ranks):
        begin, end = max(first, old_rank * old_length), min(last, (old_rank + 1) * old_length)
        if begin < end:
            pieces.append(read(old_rank, begin - old_rank * old_length, end - old_rank * old_length))
    filled = sum(len(piece) for piece in pieces)
    return torch.cat([*pieces, torch.zeros(length - filled)])


# %% answer="double_precision"
def reshard(read, elements, old_ranks, ranks, rank):
    old_length, length = (elements + old_ranks - 1) // old_ranks, (elements + ranks - 1) // ranks
    places = list(range(rank * length, min(elements, (rank + 1) * length)))
    numbers = [float(read(place // old_length, place % old_length, place % old_length + 1)) for place in places]
    return torch.tensor(numbers + [0.0] * (length - len(numbers)), dtype=torch.float64)
