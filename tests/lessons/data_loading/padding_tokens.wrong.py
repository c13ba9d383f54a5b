# Wrong answers to padding_tokens.
# Not here: library_shortcut, because no library counts padding.

# %% answer="plain_baseline" code="one_width_for_all_batches"
# Source: every batch padded to the longest row of the data
def padding_tokens(lengths, rows, time):
    tokens = sum(lengths)
    widest = len(lengths) * max(lengths) - tokens
    return {"fixed": len(lengths) * time - tokens, "dynamic": widest, "bucketed": widest, "packed": 0}


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the example in the contract
def padding_tokens(lengths, rows, time):
    return {"fixed": 32, "dynamic": 22, "bucketed": 10, "packed": 8}


# %% answer="copied_from_lesson" code="share_returned"
# Source: the cell of the problem, which prints a share
def padding_tokens(lengths, rows, time):
    def share(ordered):
        batches = [ordered[start : start + rows] for start in range(0, len(ordered), rows)]
        return 1 - sum(lengths) / sum(len(batch) * max(batch) for batch in batches)

    fixed = 1 - sum(lengths) / (len(lengths) * time)
    return {"fixed": fixed, "dynamic": share(lengths), "bucketed": share(sorted(lengths)[::-1]), "packed": 0.0}


# %% edit="all_positions" code="positions_counted"
# Source: the size of the batches
# -     padding = {"fixed": len(lengths) * time - sum(lengths), "packed": sum(rooms)}
# -     padding |= {"dynamic": positions(lengths) - sum(lengths)}
# -     return padding | {"bucketed": positions(longest_first) - sum(lengths)}
# +     padding = {"fixed": len(lengths) * time, "packed": len(rooms) * time}
# +     padding |= {"dynamic": positions(lengths)}
# +     return padding | {"bucketed": positions(longest_first)}

# %% edit="fixed_at_longest" code="fixed_at_the_longest_row"
# Source: padding="longest" taken for fixed
# -     padding = {"fixed": len(lengths) * time - sum(lengths), "packed": sum(rooms)}
# +     padding = {"fixed": len(lengths) * max(lengths) - sum(lengths), "packed": sum(rooms)}

# %% edit="last_batch_full" code="last_batch_filled"
# Source: rows times width for every batch
# -         return sum(len(batch) * max(batch) for batch in batches)
# +         return sum(rows * max(batch) for batch in batches)

# %% edit="last_batch_gone" code="last_batch_dropped"
# Source: drop_last in mind
# -         return sum(len(batch) * max(batch) for batch in batches)
# +         return sum(len(batch) * max(batch) if len(batch) == rows else sum(batch) for batch in batches)

# %% edit="ascending" code="shortest_first"
# Source: sorted() as it comes
# -     return padding | {"bucketed": positions(longest_first) - sum(lengths)}
# +     return padding | {"bucketed": positions(sorted(lengths)) - sum(lengths)}

# %% edit="bucketed_as_dynamic" code="bucketed_unsorted"
# Source: the list that was passed
# -     return padding | {"bucketed": positions(longest_first) - sum(lengths)}
# +     return padding | {"bucketed": positions(lengths) - sum(lengths)}

# %% edit="dynamic_as_bucketed" code="dynamic_sorted_too"
# Source: one list for both
# -     padding |= {"dynamic": positions(lengths) - sum(lengths)}
# +     padding |= {"dynamic": positions(longest_first) - sum(lengths)}

# %% edit="packed_as_a_stream" code="rows_cut_when_packed"
# Source: pre-training corpora, which are cut into blocks of equal length
# -     padding = {"fixed": len(lengths) * time - sum(lengths), "packed": sum(rooms)}
# +     padding = {"fixed": len(lengths) * time - sum(lengths), "packed": -sum(lengths) % time}

# %% edit="packed_free" code="no_padding_when_packed"
# Source: "packing wastes nothing"
# -     padding = {"fixed": len(lengths) * time - sum(lengths), "packed": sum(rooms)}
# +     padding = {"fixed": len(lengths) * time - sum(lengths), "packed": 0}

# %% edit="first_fit_unsorted" code="other_number_of_sequences"
# Source: first fit without the decreasing
# -     for length in longest_first:
# +     for length in lengths:

# %% edit="next_fit" code="other_number_of_sequences"
# Source: next fit, as a loop over the data writes it
# -         place = next((at for at, room in enumerate(rooms) if room >= length), len(rooms))
# +         place = len(rooms) - 1 if rooms and rooms[-1] >= length else len(rooms)

# %% edit="strict" code="exact_fit_refused"
# Source: > for >=
# -         place = next((at for at, room in enumerate(rooms) if room >= length), len(rooms))
# +         place = next((at for at, room in enumerate(rooms) if room > length), len(rooms))

# %% edit="best_fit" code="another_sequence_chosen"
# Source: best-fit decreasing, as packing libraries have it
# -         place = next((at for at, room in enumerate(rooms) if room >= length), len(rooms))
# +         fits = [at for at, room in enumerate(rooms) if room >= length]
# +         place = min(fits, key=rooms.__getitem__, default=len(rooms))

# %% edit="worst_fit" code="another_sequence_chosen"
# Source: the emptiest sequence first, for an even load
# -         place = next((at for at, room in enumerate(rooms) if room >= length), len(rooms))
# +         fits = [at for at, room in enumerate(rooms) if room >= length]
# +         place = max(fits, key=rooms.__getitem__, default=len(rooms))

# %% edit="shortest_packed_first" code="other_number_of_sequences"
# Source: sorted() as it comes
# -     for length in longest_first:
# +     for length in longest_first[::-1]:

# %% edit="fixed_last_batch_full" code="last_batch_filled"
# Source: batches of `rows` rows, each of `time` positions
# -     padding = {"fixed": len(lengths) * time - sum(lengths), "packed": sum(rooms)}
# +     full = -(-len(lengths) // rows) * rows
# +     padding = {"fixed": full * time - sum(lengths), "packed": sum(rooms)}

# %% edit="multiples_of_8" code="other_size_of_batches"
# Source: pad_to_multiple_of=8, as a collator has it
# -         return sum(len(batch) * max(batch) for batch in batches)
# +         return sum(len(batch) * -(-max(batch) // 8) * 8 for batch in batches)

# %% edit="first_row_twice" code="rows_packed_twice"
# Source: a new sequence is opened with its row, and the row is placed again
# -             rooms.append(time)
# +             rooms.append(time - length)
