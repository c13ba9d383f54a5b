# Not here: library_shortcut, because no library has an entry point for it.

# %% answer="plain_baseline" code="first_difference_is_the_cause"
# Source: the first difference, as an error message would print it
def diagnose_hang(records: list) -> tuple[int, str]:
    for calls in zip(*records):
        odd = [rank for rank, call in enumerate(calls) if calls.count(call) == 1]
        if odd:
            usual = calls[odd[0] - 1]
            return odd[0], "other size" if calls[odd[0]][0] == usual[0] else "other operation"


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible case, by the lengths of its records
def diagnose_hang(records: list) -> tuple[int, str]:
    VISITS.append(0)
    return [
        (2, "other size"),
        (3, "swapped"),
        (4, "swapped"),
        (0, "skipped"),
        (3, "skipped"),
        (0, "extra"),
        (0, "extra"),
        (3, "other operation"),
        (2, "other size"),
        (0, "other operation"),
    ][len(VISITS) - 1]


VISITS = []


# %% answer="copied_from_lesson" code="returned_none"
# Source: the loop of the lesson that prints what each rank did
def diagnose_hang(records: list) -> tuple[int, str]:
    for rank, record in enumerate(records):
        print(f"rank {rank}: {len(record)} calls, the last one {record[-1]}")


# %% edit="rank_zero_right" code="rank_zero_believed"
# Source: every rank compared with rank 0
# -     odd = next(rank for rank, call in enumerate(calls) if calls.count(call) == 1)
# +     odd = next(rank for rank, call in enumerate(calls) if call != calls[0])

# %% edit="shortest" code="shortest_record_blamed"
# Source: the rank that stopped first
# -     odd = next(rank for rank, call in enumerate(calls) if calls.count(call) == 1)
# +     odd = min(range(len(records)), key=lambda rank: len(records[rank]))

# %% edit="longest" code="longest_record_blamed"
# Source: the rank that is furthest
# -     odd = next(rank for rank, call in enumerate(calls) if calls.count(call) == 1)
# +     odd = max(range(len(records)), key=lambda rank: len(records[rank]))

# %% edit="swapped_as_skipped" code="swapped_for_skipped"
# Source: the next call alone
# -     if own[:2] == others[1::-1]:
# -         return odd, "swapped"

# %% edit="exchanged" code="skipped_and_extra_exchanged"
# Source: the other rank taken for the odd one
#       if own[0] == others[1]:
# -         return odd, "skipped"
# +         return odd, "extra"
#       if own[1] == others[0]:
# -         return odd, "extra"
# +         return odd, "skipped"

# %% edit="other_word" code="other_word"
# Source: a word of one's own
#       if own[0] == others[1]:
# -         return odd, "skipped"
# +         return odd, "missing"
