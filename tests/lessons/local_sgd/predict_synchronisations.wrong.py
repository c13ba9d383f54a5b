# %% edit="plain_baseline" code="every_left_out"
# Source: data parallel training
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return updates, True

# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the numbers of the visible case
KNOWN = {
    ("SGD", False, True, False, True): (9, False),
    ("SGD with momentum", False, True, False, True): (8, False),
    ("SGD", False, False, False, True): (9, False),
    ("AdamW", False, False, False, True): (9, False),
    ("SGD with momentum", False, False, False, True): (8, False),
    ("SGD", True, False, False, True): (9, True),
    ("SGD with momentum", True, False, False, True): (9, True),
    ("SGD with clipping", True, False, False, True): (9, False),
    ("AdamW", True, False, False, True): (9, False),
    ("SGD", False, False, True, False): (1, True),
    ("SGD with momentum", False, False, True, False): (1, True),
    ("AdamW", False, False, True, False): (1, False),
    ("SGD", True, True, False, True): (9, True),
    ("SGD", False, False, False, False): (1, False),
    ("SGD with momentum", False, False, False, False): (1, False),
}


def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    return KNOWN[optimizer, every == 1, k == 1, micro_batches <= k, micro_batches > k * every]


# %% edit="copied_from_lesson" code="sixty_updates_assumed"
# Source: -(-60 // every) of the lesson
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return -(-60 // every), is_linear and synchronisations == updates

# %% edit="final_average_forgotten" code="final_average_forgotten"
# Source: a floor division
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return updates // every, is_linear and synchronisations == updates

# %% edit="final_average_always" code="final_average_always"
# Source: Accelerate: LocalSGD averages on exit
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return updates // every + 1, is_linear and synchronisations == updates

# %% edit="micro_batches_counted" code="micro_batches_counted"
# Source: Accelerate: step() counts micro-batches
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return -(-micro_batches // every), is_linear and synchronisations == updates

# %% edit="short_group_forgotten" code="short_group_forgotten"
# Source: a floor division of the micro-batches
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return -(-(micro_batches // k) // every), is_linear and synchronisations == updates

# %% edit="two_floors" code="short_group_forgotten"
# Source: floor divisions everywhere
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return micro_batches // k // every, is_linear and synchronisations == updates

# %% edit="averages_rounded" code="final_average_forgotten"
# Source: round() in place of a division that rounds up
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return round(updates / every), is_linear and synchronisations == updates

# %% edit="not_rounded" code="not_rounded"
# Source: a true division
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return updates / every, is_linear and synchronisations == updates

# %% edit="one_average_at_the_end" code="one_average_at_the_end"
# Source: an average after the last update taken for an average after every update
# A run with one average, at its end, is called equal.
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return synchronisations, is_linear and (every == 1 or updates <= every)

# %% edit="every_left_out_of_equality" code="every_left_out_of_equality"
# Source: averages are linear
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return synchronisations, is_linear

# %% edit="optimizer_left_out" code="optimizer_left_out"
# Source: every = 1 is data parallel, says everyone
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return synchronisations, every == 1

# %% edit="clipping_linear" code="clipping_thought_linear"
# Source: clipping is a scaling
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return synchronisations, (is_linear or optimizer == "SGD with clipping") and synchronisations == updates

# %% edit="adamw_linear" code="adamw_thought_linear"
# Source: all optimizers are alike
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return synchronisations, (is_linear or optimizer == "AdamW") and synchronisations == updates

# %% edit="momentum_unequal" code="momentum_thought_unequal"
# Source: buffers differ between the ranks
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return synchronisations, optimizer == "SGD" and synchronisations == updates


# %% answer="parentheses_missing" code="parentheses_missing"
# Source: or next to and, without parentheses
# SGD is thought equal whatever every is.
def predict_synchronisations(micro_batches: int, k: int, every: int, optimizer: str) -> tuple[int, bool]:
    updates = -(-micro_batches // k)
    synchronisations = -(-updates // every)
    return synchronisations, optimizer == "SGD" or optimizer == "SGD with momentum" and every == 1


# %% edit="always_equal" code="always_equal"
# Source: local SGD is data parallel
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return synchronisations, True

# %% edit="swapped" code="no_truth_value"
# Source: the order of the two parts
#       is_linear = optimizer in ("SGD", "SGD with momentum")
# -     return synchronisations, is_linear and synchronisations == updates
# +     return is_linear and synchronisations == updates, synchronisations
