# Wrong answers to predict_pipeline.
# Not here: library_shortcut, because no library computes a bubble.


# %% answer="plain_baseline" code="one_by_one_overlapped"
# Source: the formula of the literature, for every schedule
def predict_pipeline(schedule, stages, micro_batches, forward, backward, head, stage):
    own = forward + backward
    step = (stages - 1) * own + micro_batches * (own + head)
    busy = micro_batches * (own + head * (stage == stages - 1))
    return 1 - busy / step, min(micro_batches, stages - stage)


# %% answer="copied_from_lesson" code="stages_taken_for_equal"
# Source: the formula below the exercise
def predict_pipeline(schedule, stages, micro_batches, forward, backward, head, stage):
    if schedule == "one by one":
        return 1 - 1 / stages, 1
    return (stages - 1) / (micro_batches + stages - 1), micro_batches if schedule == "gpipe" else min(
        stages - stage, micro_batches
    )


# %% edit="hard_coded" code="raised_key_error" seed=20011
# Source: the output layers of the visible case
# Because: the dictionary has the visible seconds only, and Python names those that are missing.
# -     last = own + head
# +     last = own + {0.0: 0.0, 4.0: 4.0}[head]


# %% edit="gpipe_memory" code="gpipe_for_1f1b"
# Source: the peak of GPipe, where 1F1B is asked
# -     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches)}
# +     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": micro_batches}


# %% edit="p_everywhere" code="same_held_on_every_stage"
# Source: "at most p micro-batches in flight", for every stage
# -     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches)}
# +     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages, micro_batches)}


# %% edit="few_micro_batches" code="more_held_than_there_are"
# Source: no thought of m < p
# -     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches)}
# +     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": stages - stage}


# %% edit="from_the_first" code="counted_from_the_first_stage"
# Source: stages counted from 1
# -     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches)}
# +     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stage + 1, micro_batches)}


# %% edit="warm_up_only" code="one_forward_left_out"
# Source: num_warmup_microbatches of Megatron-LM taken for the peak
# -     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches)}
# +     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage - 1, micro_batches)}


# %% edit="over_busy" code="idle_over_busy"
# Source: Narayanan and others, 2021, who divide the bubble by the ideal time
# -     return 1 - busy / step, held[schedule]
# +     return step / busy - 1, held[schedule]


# %% edit="utilisation" code="busy_for_idle"
# Source: utilisation instead of its complement
# -     return 1 - busy / step, held[schedule]
# +     return busy / step, held[schedule]


# %% edit="no_head" code="stages_taken_for_equal"
# Source: the output layer left out
# -     last = own + head
# +     last = own


# %% edit="head_once" code="head_counted_once"
# Source: the loss "at the end of the step"
# -     last = own + head
# -     step = (stages - 1) * own + micro_batches * last
# +     step = (stages - 1 + micro_batches) * own + head
# ...
# -         step = micro_batches * ((stages - 1) * own + last)
# -     busy = micro_batches * (last if stage == stages - 1 else own)
# +         step = micro_batches * stages * own + head
# +     busy = micro_batches * own + (head if stage == stages - 1 else 0)


# %% edit="same_for_all" code="same_share_for_every_stage"
# Source: one bubble for the whole pipeline
# -     busy = micro_batches * (last if stage == stages - 1 else own)
# +     busy = micro_batches * last


# %% edit="drain_forgotten" code="bubble_of_forward_only"
# Source: the gap at the start only
# -     step = (stages - 1) * own + micro_batches * last
# +     step = (stages - 1) * forward + micro_batches * last


# %% edit="no_bubble" code="smaller_bubble_in_1f1b"
# Source: 1F1B believed to remove the bubble
# -     step = (stages - 1) * own + micro_batches * last
# +     step = (stages - 1) * own * (schedule == "gpipe") + micro_batches * last


# %% edit="head_not_busy" code="same_share_for_every_stage"
# Source: the output layer in the step, and not in what the last stage computes
# -     busy = micro_batches * (last if stage == stages - 1 else own)
# +     busy = micro_batches * own


# %% edit="own_wait_only" code="first_wait_only"
# Source: the step counted until the stage itself is reached
# -     step = (stages - 1) * own + micro_batches * last
# +     step = stage * own + micro_batches * last


# %% edit="half_a_bubble" code="wrong_with_few_micro_batches"
# Source: a bubble that shrinks where the pipeline never fills
# -     step = (stages - 1) * own + micro_batches * last
# +     step = (min(stages, micro_batches) - 1) * own + micro_batches * last


# %% edit="one_round_less" code="step_of_another_length"
# Source: the first micro-batch counted as part of the bubble
# -     step = (stages - 1) * own + micro_batches * last
# +     step = (stages - 1) * own + (micro_batches - 1) * last


# %% edit="no_wait_for_the_last" code="wrong_with_an_output_layer"
# Source: idle time only before the first pass and after the last one
# -     return 1 - busy / step, held[schedule]
# +     idle = 1 - busy / step if schedule == "one by one" else (stages - 1) * own / step
# +     return idle, held[schedule]


# %% edit="gpipe_bound_by_p" code="wrong_without_1f1b"
# Source: the bound of 1F1B, for GPipe
# -     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches)}
# +     held = {"one by one": 1, "gpipe": min(stages, micro_batches), "1f1b": min(stages - stage, micro_batches)}


# %% edit="one_more_held" code="too_many_in_1f1b"
# Source: forwards before the first backward, and the one after it
# -     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches)}
# +     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage + 1, micro_batches)}


# %% edit="fewer_than_all" code="too_few_in_1f1b"
# Source: the last micro-batch believed to start after the first has ended
# -     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches)}
# +     held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches - 1)}
