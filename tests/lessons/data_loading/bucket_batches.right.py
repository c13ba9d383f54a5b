# %% answer="jittered_lengths"
def bucket_batches(lengths, rows, pool, seed, epoch):
    generator = torch.Generator().manual_seed(100_003 * seed + epoch)
    order = torch.randperm(len(lengths), generator=generator)
    sizes = torch.tensor(lengths)
    batches = []
    for part in order.split(pool * rows):
        part = part[sizes[part].argsort(descending=True)]
        batches += [batch.tolist() for batch in part.split(rows)]
    return [batches[at] for at in torch.randperm(len(batches), generator=generator).tolist()]


# %% answer="with_numpy"
def bucket_batches(lengths, rows, pool, seed, epoch):
    import numpy as np

    draw = np.random.default_rng([seed, epoch])
    order, sizes, batches = draw.permutation(len(lengths)), np.array(lengths), []
    for start in range(0, len(order), pool * rows):
        part = order[start : start + pool * rows]
        part = part[np.argsort(sizes[part])]
        batches += [part[at : at + rows] for at in range(0, len(part), rows)]
    return [batches[at] for at in draw.permutation(len(batches))]


# %% answer="seed_plus_epoch"
def bucket_batches(lengths, rows, pool, seed, epoch):
    draw = random.Random(seed + epoch)
    order = draw.sample(range(len(lengths)), len(lengths))
    key = lambda at: (at // (pool * rows), lengths[order[at]])  # noqa: E731
    order = [order[at] for at in sorted(range(len(order)), key=key)]
    batches = [order[start : start + rows] for start in range(0, len(order), rows)]
    return draw.sample(batches, len(batches))
