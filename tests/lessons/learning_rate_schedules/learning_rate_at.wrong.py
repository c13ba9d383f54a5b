# Wrong answers to learning_rate_at.
# Not here: library_shortcut, because a library's schedule that gives the right rates is a right answer.
# Not here: copied_from_lesson, because no rate is computed above the exercise.

# %% answer="plain_baseline" code="constant_rate"
# Source: a loop without a schedule
def learning_rate_at(schedule, update, updates, warm_up, peak):
    return peak


# %% answer="hard_coded" code="visible_case_hard_coded"
# Source: the figure of the lesson, for 60 updates
def learning_rate_at(schedule, update, updates, warm_up, peak):
    if update < 6:
        return 0.1 * update / 6
    done = (update - 6) / 54
    return (
        0.1
        * {
            "linear": 1 - done,
            "cosine": (1 + math.cos(math.pi * done)) / 2,
            "exponential": 0.01**done,
            "step": 0.1 ** (3 * (update - 6) // 54),
            "inverse_square_root": math.sqrt(6 / max(update, 1)),
            "wsd": min(1, (60 - update) / 12),
        }[schedule]
    )


# %% edit="counted_from_one" code="warm_up_one_update_early"
# Source: off by one; fairseq and many tutorials warm up by (step + 1) / warm_up
# -         return peak * update / warm_up
# +         return peak * (update + 1) / warm_up

# %% edit="factor_only" code="factor_returned"
# Source: LambdaLR wants the factor
# -         return peak * update / warm_up
# +         return update / warm_up
# ...
# -     return peak * factors[schedule]
# +     return factors[schedule]

# %% edit="progress_of_the_run" code="progress_counts_the_warm_up"
# Source: progress = step / total, as in nanoGPT-like loops without warm-up
# -     done = (update - warm_up) / (updates - warm_up)
# +     done = update / updates

# %% edit="ends_at_the_last_update" code="lowest_rate_at_the_last_update"
# Source: linspace over the updates
# -     done = (update - warm_up) / (updates - warm_up)
# +     done = (update - warm_up) / (updates - warm_up - 1)

# %% edit="whole_period" code="whole_period_of_the_cosine"
# Source: cos(2 pi t)
# -         "cosine": (1 + math.cos(math.pi * done)) / 2,
# +         "cosine": (1 + math.cos(2 * math.pi * done)) / 2,

# %% edit="quarter_period" code="quarter_of_the_cosine"
# Source: cos(pi / 2 t) also falls from 1 to 0
# -         "cosine": (1 + math.cos(math.pi * done)) / 2,
# +         "cosine": math.cos(math.pi * done / 2),

# %% edit="exponential_of_progress" code="exponent_base_e"
# Source: exp(-t) from a formula sheet
# -         "exponential": 0.01**done,
# +         "exponential": math.exp(-done),

# %% edit="gamma_of_each_update" code="one_percent_at_each_update"
# Source: ExponentialLR(gamma=0.01)
# -         "exponential": 0.01**done,
# +         "exponential": 0.01 ** (update - warm_up),

# %% edit="thirds_of_the_run" code="steps_of_the_whole_run"
# Source: MultiStepLR with milestones at thirds of the run
# -         "step": 0.1 ** (3 * (update - warm_up) // (updates - warm_up)),
# +         "step": 0.1 ** (3 * update // updates),

# %% edit="two_halves" code="steps_not_at_thirds"
# Source: one step in the middle
# -         "step": 0.1 ** (3 * (update - warm_up) // (updates - warm_up)),
# +         "step": 0.1 ** (2 * (update - warm_up) // (updates - warm_up)),

# %% edit="root_jumps" code="root_without_the_warm_up"
# Source: lr / sqrt(step)
# -         "inverse_square_root": math.sqrt(warm_up / update),
# +         "inverse_square_root": 1 / math.sqrt(update),

# %% edit="root_from_the_peak" code="root_counted_from_the_peak"
# Source: steps since the warm-up
# -         "inverse_square_root": math.sqrt(warm_up / update),
# +         "inverse_square_root": 1 / math.sqrt(update - warm_up + 1),

# %% edit="essay_constant" code="constant_after_the_warm_up"
# Source: DL Training: An in-depth discussion, "Inverse Square Root ... remains constant"
# -         "inverse_square_root": math.sqrt(warm_up / update),
# +         "inverse_square_root": 1.0,

# %% edit="fifth_after_the_warm_up" code="fifth_of_the_rest"
# Source: the decay as a share of the main phase
# -         "wsd": min(1, (updates - update) / (updates / 5)),
# +         "wsd": min(1, (updates - update) / ((updates - warm_up) / 5)),

# %% edit="wsd_drops" code="wsd_drops_into_its_decay"
# Source: the linear schedule pasted behind a condition
# -         "wsd": min(1, (updates - update) / (updates / 5)),
# +         "wsd": 1.0 if update < updates - updates // 5 else 1 - done,


# %% edit="tenth_off" code="other_rates"
# Source: "divided by 10" read as "less 10 %"
# -         "step": 0.1 ** (3 * (update - warm_up) // (updates - warm_up)),
# +         "step": 1 - 0.1 * (3 * (update - warm_up) // (updates - warm_up)),

# %% edit="shift_forgotten_in_the_length" code="divided_by_all_updates"
# Source: (step - warm_up) / total, half of the shift
# -     done = (update - warm_up) / (updates - warm_up)
# +     done = (update - warm_up) / updates

# %% edit="warm_up_from_a_tenth" code="first_rate_above_zero"
# Source: a start factor of LinearLR
# -         return peak * update / warm_up
# +         return peak * (0.1 + 0.9 * update / warm_up)

# %% edit="warm_up_ends_early" code="other_warm_up"
# Source: linspace over the warm-up
# -         return peak * update / warm_up
# +         return peak * update / max(warm_up - 1, 1)

# %% edit="root_of_the_next_update" code="root_without_the_warm_up"
# Source: step + 1, to avoid a division by zero
# -         "inverse_square_root": math.sqrt(warm_up / update),
# +         "inverse_square_root": math.sqrt(warm_up / (update + 1)),

# %% edit="last_fifth_to_zero" code="lowest_rate_at_the_last_update"
# Source: off by one in the decay
# -         "wsd": min(1, (updates - update) / (updates / 5)),
# +         "wsd": min(1, (updates - 1 - update) / (updates / 5 - 1)),

# %% edit="transformers_decay" code="wsd_decays_by_a_cosine"
# Source: get_scheduler("warmup_stable_decay"), whose decay_type is "cosine" by default
# -         "wsd": min(1, (updates - update) / (updates / 5)),
# +         "wsd": (1 - math.cos(math.pi * min(1, (updates - update) / (updates / 5)))) / 2,
