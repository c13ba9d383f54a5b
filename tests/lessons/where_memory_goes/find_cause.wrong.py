# Wrong answers to find_cause.

# %% answer="plain_baseline" code="one_cause_for_all"
# Source: out of memory is taken to mean a batch that is too large
def find_cause(asked: int, total: int, free: int, own: int, allocated: int, unallocated: int) -> str:
    return "too large"


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the causes of the visible case, in their order
import itertools

SEEN = itertools.cycle(
    [
        "other processes",
        "fragmentation",
        "fragmentation",
        "too large",
        "other processes",
        "other processes",
        "too large",
        "fragmentation",
        "too large",
    ]
)


def find_cause(asked: int, total: int, free: int, own: int, allocated: int, unallocated: int) -> str:
    return next(SEEN)


# %% edit="copied_from_lesson" code="fragmentation_never"
# Source: the message: free memory is less than what was asked for
# -     if asked <= in_pieces:
# +     if asked <= free:


# %% edit="cache_alone" code="free_memory_left_out"
# Source: the advice of the message, "if reserved but unallocated memory is large"
# -     if asked <= in_pieces:
# +     if asked <= unallocated:


# %% edit="cache_is_large" code="any_cache_is_fragmentation"
# Source: the advice of the message, taken as a rule of thumb
# -     if asked <= in_pieces:
# +     if unallocated > free:


# %% edit="context_of_others" code="context_counted_as_others"
# Source: everything that PyTorch does not know taken for other processes
# -     others = total - free - own
# +     others = total - free - allocated - unallocated


# %% edit="own_of_others" code="own_memory_counted_as_others"
# Source: all that is occupied taken for other processes
# -     others = total - free - own
# +     others = total - free


# %% edit="others_never" code="others_never"
# Source: one process is taken to have the GPU to itself
# -     return "other processes" if asked <= in_pieces + others else "too large"
# +     return "too large"


# %% edit="any_others" code="others_wherever_there_are_any"
# Source: nvidia-smi shows another process
# -     return "other processes" if asked <= in_pieces + others else "too large"
# +     return "other processes" if others > 0 else "too large"


# %% answer="others_first" code="others_first"
# Source: the order of the questions exchanged
def find_cause(asked: int, total: int, free: int, own: int, allocated: int, unallocated: int) -> str:
    others = total - free - own
    if others > 0 and asked <= free + others:
        return "other processes"
    if asked <= free + unallocated:
        return "fragmentation"
    return "other processes" if asked <= free + unallocated + others else "too large"


# %% edit="others_alone" code="others_without_free"
# Source: only what the others hold is compared
# -     return "other processes" if asked <= in_pieces + others else "too large"
# +     return "other processes" if asked <= others else "too large"


# %% edit="other_word" code="wrong_word"
# Source: a word of the learner's own
# -         return "fragmentation"
# +         return "fragmented"


# %% edit="without_unallocated" code="unallocated_left_out"
# Source: what is not in use by this process
# -     return "other processes" if asked <= in_pieces + others else "too large"
# +     return "other processes" if asked <= total - own else "too large"
