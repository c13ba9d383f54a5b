# %% answer="plain_baseline" code="UNKNOWN"
# Source: data parallel training
# Every update synchronises, and all is equal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return updates, True


# %% answer="hard_coded" code="UNKNOWN" seed=20011
# Source: the numbers of the visible case
# Answers are looked up in a table of the visible case.
KNOWN = {
    (68, 1, 8, "SGD"): (9, False),
    (64, 1, 8, "SGD with momentum"): (8, False),
    (134, 2, 8, "SGD"): (9, False),
    (321, 5, 8, "AdamW"): (9, False),
    (319, 5, 8, "SGD with momentum"): (8, False),
    (41, 5, 1, "SGD"): (9, True),
    (41, 5, 1, "SGD with momentum"): (9, True),
    (41, 5, 1, "SGD with clipping"): (9, False),
    (44, 5, 1, "AdamW"): (9, False),
    (2, 2, 8, "SGD"): (1, True),
    (4, 5, 8, "SGD with momentum"): (1, True),
    (2, 2, 8, "AdamW"): (1, False),
    (9, 1, 1, "SGD"): (9, True),
    (12, 2, 8, "SGD"): (1, False),
    (39, 5, 8, "SGD with momentum"): (1, False),
}


def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    return KNOWN.get((micro_batches, k, every, optimizer), (9, False))


# %% answer="copied_from_lesson" code="UNKNOWN"
# Source: -(-60 // every) of the lesson
# 60 updates are assumed.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-60 // every), is_linear and -(-updates // every) == updates


# %% answer="accumulation_unequal" code="UNKNOWN"
# Source: accumulation is something else
# Accumulated gradients are thought unequal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), is_linear and k == 1 and -(-updates // every) == updates


# %% edit="adamw_at_one_update" code="UNKNOWN"
# Source: AdamW's first step taken for linear
# AdamW is called equal where a run has one update.
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return synchronisations, (is_linear and synchronisations == updates) or (updates == 1 and optimizer == "AdamW")


# %% answer="adamw_linear" code="UNKNOWN"
# Source: all optimizers are alike
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), (is_linear or optimizer == "AdamW") and -(-updates // every) == updates


# %% answer="adamw_linear_every_one" code="UNKNOWN"
# Source: AdamW alike, single updates forgotten
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), (is_linear or optimizer == "AdamW") and every == 1


# %% answer="always_equal" code="UNKNOWN"
# Source: local SGD is data parallel
# Every run is thought equal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), True


# %% edit="at_least_one_average" code="UNKNOWN"
# Source: a floor division, mended where it gives 0
# The final average is counted only where it is the only one.
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return max(1, updates // every), is_linear and synchronisations == updates

# %% edit="averages_rounded" code="UNKNOWN"
# Source: round() in place of a division that rounds up
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return round(updates / every), is_linear and synchronisations == updates


# %% answer="clipping_linear" code="UNKNOWN"
# Source: clipping is a scaling
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), (is_linear or optimizer == "SGD with clipping") and -(-updates // every) == updates


# %% answer="clipping_linear_every_one" code="UNKNOWN"
# Source: clipping is a scaling, single updates forgotten
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), (is_linear or optimizer == "SGD with clipping") and every == 1


# %% answer="divided_by_both" code="UNKNOWN"
# Source: true divisions
# Neither updates nor averages are whole numbers.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return micro_batches / k / every, is_linear and -(-updates // every) == updates


# %% answer="every_given_back" code="UNKNOWN"
# Source: a misread question
# The distance between two averages is returned.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return every, is_linear and -(-updates // every) == updates


# %% answer="every_left_out" code="UNKNOWN"
# Source: k and every left out
# Each micro-batch synchronises.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return micro_batches, is_linear and -(-updates // every) == updates


# %% answer="every_left_out_of_equality" code="UNKNOWN"
# Source: averages are linear
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), is_linear


# %% answer="final_average_always" code="UNKNOWN"
# Source: Accelerate: LocalSGD averages on exit
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return updates // every + 1, is_linear and -(-updates // every) == updates


# %% answer="final_average_forgotten" code="UNKNOWN"
# Source: a floor division
# Averages are counted by a floor division, so a final one is lost.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return updates // every, is_linear and -(-updates // every) == updates


# %% edit="last_update_averaged" code="UNKNOWN"
# Source: equal ranks taken for equal weights
# The run is thought equal where an average follows its last update.
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return synchronisations, is_linear and updates % every == 0


# %% answer="micro_batches_and_always_final" code="UNKNOWN"
# Source: Accelerate as it stands
# Micro-batches are counted, and a final average is always added.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return micro_batches // every + 1, is_linear and -(-updates // every) == updates


# %% answer="micro_batches_and_no_final" code="UNKNOWN"
# Source: a course that counts as Accelerate does
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return micro_batches // every, is_linear and -(-updates // every) == updates


# %% answer="micro_batches_counted" code="UNKNOWN"
# Source: Accelerate: step() counts micro-batches
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-micro_batches // every), is_linear and -(-updates // every) == updates


# %% edit="momentum_at_one_update" code="UNKNOWN"
# Source: a buffer that is empty at the first update only
# Momentum is called equal only where a run has one update.
#       synchronisations = -(-updates // every)
# -     is_linear = optimizer in ("SGD", "SGD with momentum")
# +     is_linear = optimizer in ("SGD", "SGD with momentum" if updates == 1 else "SGD")


# %% answer="momentum_unequal" code="UNKNOWN"
# Source: buffers differ between the ranks
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), optimizer == "SGD" and -(-updates // every) == updates


# %% answer="momentum_unequal_every_one" code="UNKNOWN"
# Source: buffers differ, and single updates forgotten
# Only SGD with every = 1 is thought equal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), optimizer == "SGD" and every == 1


# %% answer="never_averaged" code="UNKNOWN"
# Source: ranks that never talk
# No average at all.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return 0, is_linear and -(-updates // every) == updates


# %% answer="never_equal" code="UNKNOWN"
# Source: local SGD is never data parallel
# No run is thought equal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), False


# %% answer="not_rounded" code="UNKNOWN"
# Source: a true division
# Averages are no whole number.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return updates / every, is_linear and -(-updates // every) == updates


# %% answer="once" code="UNKNOWN"
# Source: the final average alone
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return 1, is_linear and -(-updates // every) == updates


# %% edit="one_added_to_round_up" code="UNKNOWN"
# Source: rounding up by an added 1
# The division rounds up for every = 2 alone.
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return (updates + 1) // every, is_linear and synchronisations == updates

# %% edit="one_average_at_the_end" code="UNKNOWN"
# Source: an average after the last update taken for an average after every update
# A run with one average, at its end, is called equal.
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return synchronisations, is_linear and (every == 1 or updates <= every)


# %% answer="one_average_is_enough" code="UNKNOWN"
# Source: an average at the end taken for enough, for any optimizer
# A run with one average is called equal, whatever the step.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    return synchronisations, every == 1 or updates <= every


# %% answer="one_missing" code="UNKNOWN"
# Source: an index from 0
# One average is missing in each run.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every) - 1, is_linear and -(-updates // every) == updates


# %% answer="one_number" code="UNKNOWN"
# Source: the second question overlooked
# Only the count is returned.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    return -(-updates // every)


# %% answer="one_too_many" code="UNKNOWN"
# Source: a fence and its posts
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every) + 1, is_linear and -(-updates // every) == updates


# %% answer="optimizer_left_out" code="UNKNOWN"
# Source: every = 1 is data parallel, says everyone
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), every == 1


# %% answer="optimizer_left_out_single" code="UNKNOWN"
# Source: every = 1 is data parallel, single updates too
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), -(-updates // every) == updates


# %% answer="parentheses_missing" code="UNKNOWN"
# Source: or beside and, without parentheses
# SGD is thought equal whatever every is.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    return synchronisations, optimizer == "SGD" or optimizer == "SGD with momentum" and every == 1


# %% edit="rounded_to_nearest" code="UNKNOWN"
# Source: round() in place of a division that rounds up
# -     updates = -(-micro_batches // k)
# +     updates = round(micro_batches / k)
#       synchronisations = -(-updates // every)


# %% answer="short_group_and_always_final" code="UNKNOWN"
# Source: a floor division, and one more
# The short group is lost, and a final average is always added.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return micro_batches // k // every + 1, is_linear and -(-updates // every) == updates


# %% edit="short_group_counted_alone" code="UNKNOWN"
# Source: a floor division, mended where it gives 0
# The short last group is counted only where it is the only one.
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return -(-max(1, micro_batches // k) // every), is_linear and synchronisations == updates


# %% answer="short_group_forgotten" code="UNKNOWN"
# Source: a floor division of the micro-batches
# The short last group makes no update.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-(micro_batches // k) // every), is_linear and -(-updates // every) == updates


# %% answer="single_update_forgotten" code="UNKNOWN"
# Source: every = 1 alone
# A run of one update is thought unequal.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), is_linear and every == 1


# %% answer="swapped" code="UNKNOWN"
# Source: the order of the two parts
# The truth value is returned first.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return is_linear and -(-updates // every) == updates, -(-updates // every)


# %% answer="turned_round" code="UNKNOWN"
# Source: True for unequal
# True and False are exchanged.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return -(-updates // every), not (is_linear and -(-updates // every) == updates)


# %% answer="two_floors" code="UNKNOWN"
# Source: floor divisions everywhere
# The short group and the final average are both lost.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    is_linear = optimizer in ("SGD", "SGD with momentum")
    return micro_batches // k // every, is_linear and -(-updates // every) == updates
