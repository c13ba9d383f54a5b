# Wrong answers to parts_needed.
# Not here: library_shortcut, because no library has an entry point for this question.
# Not here: hard_coded, because the cell after the exercise shows one run and no answer to it.

# %% answer="plain_baseline" code="everything_always_needed"
# Source: save everything, to be safe
def parts_needed(run):
    return {"optimizer", "scheduler", "scaler", "rng", "order", "position", "gradients"}


# %% answer="copied_from_lesson" code="state_of_plain_sgd"
# Source: the parts that the demonstration saves, for every run
def parts_needed(run):
    return {"optimizer", "scheduler", "order", "rng"}


# %% answer="weights_alone" code="nothing_needed"
# Source: torch.save(model.state_dict())
def parts_needed(run):
    return set()


# %% edit="adam_only" code="momentum_forgotten"
# Source: state is what Adam has
# -         "optimizer": run["optimizer"] != "sgd",
# +         "optimizer": run["optimizer"] == "adamw",

# %% edit="warm_up_over" code="warm_up_that_is_over"
# Source: the rate is constant by now
# -         "scheduler": run["schedule"] == "cosine" or (run["schedule"] == "warm_up" and run["warm_up"] > 0),
# +         "scheduler": run["schedule"] == "cosine"
# +         or (run["schedule"] == "warm_up" and run["update"] < run["warm_up"]),

# %% edit="any_schedule" code="warm_up_of_no_updates"
# Source: the word decides
# -         "scheduler": run["schedule"] == "cosine" or (run["schedule"] == "warm_up" and run["warm_up"] > 0),
# +         "scheduler": run["schedule"] != "constant",

# %% edit="every_scheduler" code="scheduler_of_a_constant_rate"
# Source: a scheduler always has a state
# -         "scheduler": run["schedule"] == "cosine" or (run["schedule"] == "warm_up" and run["warm_up"] > 0),
# +         "scheduler": True,

# %% edit="sixteen_bits" code="scaler_for_bf16"
# Source: both 16-bit formats are scaled
# -         "scaler": run["precision"] == "fp16",
# +         "scaler": run["precision"] in ("fp16", "bf16"),

# %% edit="rng_always" code="rng_without_draws"
# Source: a run is random
# -         "rng": run["dropout"] > 0,
# +         "rng": True,

# %% edit="rng_shuffles" code="rng_for_the_shuffle"
# Source: shuffling is random
# -         "rng": run["dropout"] > 0,
# +         "rng": run["dropout"] > 0 or run["rows"] == "shuffled",

# %% edit="order_within" code="order_within_an_epoch_only"
# Source: a finished epoch has no order
# -         "order": run["rows"] == "shuffled",
# +         "order": run["rows"] == "shuffled" and is_within,

# %% edit="position_always" code="position_of_a_finished_epoch"
# Source: the index of the last micro-batch
# -         "position": is_within,
# +         "position": True,

# %% edit="position_of_a_shuffle" code="position_of_shuffled_rows_only"
# Source: in order means from the start
# -         "position": is_within,
# +         "position": is_within and run["rows"] == "shuffled",

# %% edit="short_group" code="gradients_after_a_short_group"
# Source: the remainder decides
# -         "gradients": is_within and run["micro_batch"] % run["k"] != 0,
# +         "gradients": run["micro_batch"] % run["k"] != 0,

# %% edit="gradients_forgotten" code="gradients_never_needed"
# Source: gradients are cleared anyway
# -         "gradients": is_within and run["micro_batch"] % run["k"] != 0,
# +         "gradients": False,

# %% edit="accumulation" code="gradients_always"
# Source: accumulation has gradients
# -         "gradients": is_within and run["micro_batch"] % run["k"] != 0,
# +         "gradients": run["k"] > 1,

# %% edit="a_word_for_it" code="unknown_part"
# Source: another name for the default generator
# -         "rng": run["dropout"] > 0,
# +         "seed": run["dropout"] > 0,

# %% edit="a_dict" code="no_set_returned"
# Source: the table itself
# -     return {name for name, is_needed in needed.items() if is_needed}
# +     return needed
