# %% answer="row_by_row"
def padding_tokens(lengths, rows, time):
    def waste(ordered):
        total = 0
        for start in range(0, len(ordered), rows):
            batch = ordered[start : start + rows]
            total += sum(max(batch) - length for length in batch)
        return total

    sequences = []
    for length in sorted(lengths)[::-1]:
        for sequence in sequences:
            if sum(sequence) + length <= time:
                sequence.append(length)
                break
        else:
            sequences.append([length])
    return {
        "packed": sum(time - sum(sequence) for sequence in sequences),
        "bucketed": waste(sorted(lengths)[::-1]),
        "dynamic": waste(list(lengths)),
        "fixed": sum(time - length for length in lengths),
    }


# %% answer="with_tensors"
def padding_tokens(lengths, rows, time):
    counts = torch.tensor(lengths)

    def waste(values):
        return sum((part.max() - part).sum() for part in values.split(rows))

    rooms = []
    for length in counts.sort(descending=True).values.tolist():
        fitting = [at for at, room in enumerate(rooms) if room >= length]
        if fitting:
            rooms[fitting[0]] -= length
        else:
            rooms.append(time - length)
    fixed, bucketed = (time - counts).sum(), waste(counts.sort(descending=True).values)
    return {"fixed": fixed, "dynamic": waste(counts), "bucketed": bucketed, "packed": sum(rooms)}


# %% answer="as_floats"
def padding_tokens(lengths, rows, time):
    tokens, order = float(sum(lengths)), sorted(lengths, reverse=True)
    width = lambda values, at: max(values[at - at % rows : at - at % rows + rows])  # noqa: E731
    dynamic = sum(width(lengths, at) for at in range(len(lengths)))
    bucketed = sum(width(order, at) for at in range(len(order)))
    used = []
    while order:
        used.append(0)
        for length in list(order):
            if used[-1] + length <= time:
                used[-1] += length
                order.remove(length)
    packed = len(used) * time
    return {
        "fixed": len(lengths) * time - tokens,
        "dynamic": dynamic - tokens,
        "bucketed": bucketed - tokens,
        "packed": packed - tokens,
    }
