# Wrong answers to bucket_batches.
# Not here: library_shortcut, because the contract names what to draw from, and not how.

# %% edit="plain_baseline" code="not_sorted_by_length"
# Source: a shuffled loader
# -         near = sorted(order[start : start + pool * rows], key=lambda row: lengths[row])
# +         near = order[start : start + pool * rows]

# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the rows of the visible case
def bucket_batches(lengths, rows, pool, seed, epoch):
    draw = random.Random(f"{seed} {epoch}")
    order, batches = list(range(203)), []
    draw.shuffle(order)
    for start in range(0, 203, 48):
        near = sorted(order[start : start + 48], key=lambda row: lengths[row % len(lengths)])
        batches += [near[first : first + 8] for first in range(0, len(near), 8)]
    draw.shuffle(batches)
    return batches


# %% answer="copied_from_lesson" code="never_shuffled"
# Source: bucketed batches as the first exercise has them
def bucket_batches(lengths, rows, pool, seed, epoch):
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    return [order[start : start + rows] for start in range(0, len(order), rows)]


# %% edit="drops_the_tail" code="tail_dropped"
# Source: drop_last=True
# -     draw.shuffle(batches)
# +     batches = [batch for batch in batches if len(batch) == rows]
# +     draw.shuffle(batches)

# %% edit="whole_pools_only" code="rows_lost"
# Source: full pools only
# -     for start in range(0, len(order), pool * rows):
# +     for start in range(0, len(order) - pool * rows + 1, pool * rows):

# %% edit="with_replacement" code="rows_drawn_with_replacement"
# Source: random.choices for an order
# -     draw.shuffle(order)
# +     order = draw.choices(order, k=len(order))

# %% edit="filled_up" code="tail_filled_up"
# Source: even batches, by hand
# -     draw.shuffle(order)
# +     draw.shuffle(order)
# +     order += order[: -len(order) % rows] or order[:rows]

# %% edit="pools_as_batches" code="whole_pool_as_a_batch"
# Source: the pool not cut
# -         batches += [near[first : first + rows] for first in range(0, len(near), rows)]
# +         batches.append(near)

# %% edit="pools_of_other_sizes" code="several_short_batches"
# Source: pool taken for the number of pools
# -     for start in range(0, len(order), pool * rows):
# -         near = sorted(order[start : start + pool * rows], key=lambda row: lengths[row])
# +     size = pool * rows + 1
# +     for start in range(0, len(order), size):
# +         near = sorted(order[start : start + size], key=lambda row: lengths[row])

# %% edit="global_shuffle" code="global_random_state"
# Source: torch.randperm without a generator
# -     draw.shuffle(order)
# +     order = torch.randperm(len(order)).tolist()

# %% edit="batches_by_global_state" code="global_random_state"
# Source: random.shuffle, out of habit
# -     draw.shuffle(batches)
# +     random.shuffle(batches)

# %% edit="global_seed" code="global_seed_set"
# Source: torch.manual_seed(seed + epoch)
# -     draw.shuffle(order)
# +     torch.manual_seed(seed + epoch)
# +     order = torch.randperm(len(order)).tolist()

# %% edit="epoch_left_out" code="epoch_ignored"
# Source: a seed without the epoch
# -     order = list(range(len(lengths)))
# +     draw = random.Random(seed)
# +     order = list(range(len(lengths)))

# %% edit="seed_left_out" code="seed_ignored"
# Source: the epoch as a seed
# -     order = list(range(len(lengths)))
# +     draw = random.Random(epoch)
# +     order = list(range(len(lengths)))

# %% edit="sorted_first" code="only_the_order_of_batches_changes"
# Source: sort, cut, shuffle the batches
# -     draw.shuffle(order)
# +     order.sort(key=lambda row: lengths[row])

# %% edit="pool_in_rows" code="pools_too_small"
# Source: pool taken for a number of rows
# -     for start in range(0, len(order), pool * rows):
# -         near = sorted(order[start : start + pool * rows], key=lambda row: lengths[row])
# +     for start in range(0, len(order), 2 * rows):
# +         near = sorted(order[start : start + 2 * rows], key=lambda row: lengths[row])

# %% edit="batches_not_shuffled" code="batches_in_order_of_length"
# Source: transformers, get_length_grouped_indices, version 5.23
# -     draw.shuffle(batches)

# %% edit="lengths_returned" code="lengths_returned"
# Source: lengths sorted in the place of row numbers
# -         near = sorted(order[start : start + pool * rows], key=lambda row: lengths[row])
# +         near = sorted(lengths[row] for row in order[start : start + pool * rows])

# %% edit="places_in_the_pool" code="places_in_the_pool"
# Source: argsort
# -         near = sorted(order[start : start + pool * rows], key=lambda row: lengths[row])
# +         part = order[start : start + pool * rows]
# +         near = sorted(range(len(part)), key=lambda at: lengths[part[at]])

# %% edit="rows_from_one" code="no_row_of_the_data"
# Source: rows counted from 1
# -     draw.shuffle(batches)
# +     batches = [[row + 1 for row in batch] for batch in batches]
# +     draw.shuffle(batches)

# %% edit="all_rows_sorted" code="pools_too_large"
# Source: shuffle, sort, cut, shuffle: only rows of equal length change places
# -     draw.shuffle(order)
# +     draw.shuffle(order)
# +     order.sort(key=lambda row: lengths[row])

# %% edit="sorted_with_noise" code="pools_too_large"
# Source: batch by length with sorting noise, as AllenNLP's BucketBatchSampler does
# -     for start in range(0, len(order), pool * rows):
# -         near = sorted(order[start : start + pool * rows], key=lambda row: lengths[row])
# -         batches += [near[first : first + rows] for first in range(0, len(near), rows)]
# +     order.sort(key=lambda row: lengths[row] + draw.uniform(0, pool))
# +     batches += [order[first : first + rows] for first in range(0, len(order), rows)]

# %% edit="sorts_in_place" code="lengths_changed"
# Source: lengths.sort()
# -     draw.shuffle(order)
# +     draw.shuffle(order)
# +     lengths.sort()
