# Wrong answers to predict_sharding.
# Not here: library_shortcut, because no library counts the paper's bytes.

# %% answer="plain_baseline" code="plain_data_parallel"
# Source: lesson 15's data parallel training, whatever the stage
def predict_sharding(parameters: int, ranks: int, stage: int, state_bytes: int, k: int) -> tuple[float, float]:
    return (4 + state_bytes) * parameters, 2 * 2 * parameters * (ranks - 1) / ranks


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the values of the visible jobs, by their place
def predict_sharding(parameters: int, ranks: int, stage: int, state_bytes: int, k: int) -> tuple[float, float]:
    from grader.lessons.sharding.jobs import sharding_jobs

    job = {(job.stage, job.state_bytes): job for job in sharding_jobs(0)}.get((stage, state_bytes))
    if job:
        parameters, ranks, k = job.parameters, job.ranks, job.k
    weights = 2 * parameters / (ranks if stage == 3 else 1)
    gradients = 2 * parameters / (ranks if stage >= 2 else 1)
    states = state_bytes * parameters / (ranks if stage >= 1 else 1)
    one_pass = 2 * parameters * (ranks - 1) / ranks
    return weights + gradients + states, (2, 2, k + 1, 3 * k)[stage] * one_pass


# %% answer="copied_from_lesson" code="estimate_of_the_library"
# Source: DeepSpeed's estimator of the lesson
def predict_sharding(parameters: int, ranks: int, stage: int, state_bytes: int, k: int) -> tuple[float, float]:
    held = 4 * parameters + 16 * parameters / ranks if stage == 2 else 18 * parameters / ranks
    return held, (2, 2, k + 1, 3 * k)[stage] * 2 * parameters * (ranks - 1) / ranks


# %% edit="everything_divided" code="everything_divided"
# Source: "sharded over the ranks" read as everything
# -     weights = 2 * parameters / (ranks if stage == 3 else 1)
# -     gradients = 2 * parameters / (ranks if stage >= 2 else 1)
# +     weights = 2 * parameters / (ranks if stage >= 1 else 1)
# +     gradients = 2 * parameters / (ranks if stage >= 1 else 1)

# %% edit="gradients_at_one" code="gradients_divided_at_stage_1"
# Source: a reduce-scatter leaves a share, so the gradient is taken for freed
# -     gradients = 2 * parameters / (ranks if stage >= 2 else 1)
# +     gradients = 2 * parameters / (ranks if stage >= 1 else 1)

# %% edit="only_new" code="only_the_new_part_divided"
# Source: a stage taken for a choice of one thing
# -     gradients = 2 * parameters / (ranks if stage >= 2 else 1)
# -     states = state_bytes * parameters / (ranks if stage >= 1 else 1)
# +     gradients = 2 * parameters / (ranks if stage == 2 else 1)
# +     states = state_bytes * parameters / (ranks if stage == 1 else 1)

# %% edit="twelve" code="twelve_bytes_assumed"
# Source: the paper's AdamW
# -     states = state_bytes * parameters / (ranks if stage >= 1 else 1)
# +     states = 12 * parameters / (ranks if stage >= 1 else 1)

# %% edit="float32" code="float32_weights"
# Source: full precision
# -     weights = 2 * parameters / (ranks if stage == 3 else 1)
# -     gradients = 2 * parameters / (ranks if stage >= 2 else 1)
# +     weights = 4 * parameters / (ranks if stage == 3 else 1)
# +     gradients = 4 * parameters / (ranks if stage >= 2 else 1)

# %% edit="paper" code="volume_of_the_paper"
# Source: 2, 2, 3 times the parameters
# -     one_pass = 2 * parameters * (ranks - 1) / ranks
# +     one_pass = 2 * parameters

# %% edit="without_k" code="micro_batches_left_out"
# Source: the paper's figures, which have no accumulation
# -     passes = (2, 2, k + 1, 3 * k)[stage]
# +     passes = (2, 2, 2, 3)[stage]

# %% edit="always_k" code="sent_for_each_micro_batch"
# Source: DDP without no_sync
# -     passes = (2, 2, k + 1, 3 * k)[stage]
# +     passes = (2 * k, 2 * k, 2 * k, 3 * k)[stage]

# %% edit="gathered_once" code="gathered_once"
# Source: one all-gather and one reduce-scatter for stage 3
# -     passes = (2, 2, k + 1, 3 * k)[stage]
# +     passes = (2, 2, k + 1, 2 * k)[stage]

# %% edit="stage_two_gathers" code="weights_gathered_each_time"
# Source: every micro-batch treated alike
# -     passes = (2, 2, k + 1, 3 * k)[stage]
# +     passes = (2, 2, 2 * k, 3 * k)[stage]

# %% edit="one_pass_all_reduce" code="all_reduce_counted_once"
# Source: an all-reduce taken for one pass
# -     passes = (2, 2, k + 1, 3 * k)[stage]
# +     passes = (1, 2, k + 1, 3 * k)[stage]

# %% edit="all_reduce_kept" code="all_gather_added_to_all_reduce"
# Source: the all-reduce of data parallel training, and an all-gather more
# -     passes = (2, 2, k + 1, 3 * k)[stage]
# +     passes = (2, 3, k + 2, 3 * k)[stage]


# %% answer="gathered_once_per_update" code="weights_gathered_once_per_update"
# Source: k forgotten in one of the two terms
def predict_sharding(parameters, ranks, stage, state_bytes, k):
    held = 2 * parameters / (ranks if stage == 3 else 1) + 2 * parameters / (ranks if stage >= 2 else 1)
    held += state_bytes * parameters / (ranks if stage else 1)
    passes = [2, 2, k + 1, k + 2][stage]
    return held, passes * 2 * parameters * (ranks - 1) / ranks


# %% answer="whole_numbers" code="shares_rounded"
# Source: // in place of /
def predict_sharding(parameters: int, ranks: int, stage: int, state_bytes: int, k: int) -> list[int]:
    share = parameters // ranks
    states = state_bytes * (share if stage else parameters)
    held = states + 2 * (share if stage > 1 else parameters) + 2 * (share if stage > 2 else parameters)
    passes = 2 if stage < 2 else k + 1 if stage == 2 else 3 * k
    return [held, passes * 2 * share * (ranks - 1)]


# %% edit="put_in" code="put_in_counted"
# Source: the last line that the notebook prints above
# -     passes = (2, 2, k + 1, 3 * k)[stage]
# -     return weights + gradients + states, passes * one_pass
# +     reduces, gathers = k if stage >= 2 else 1, 2 * k if stage == 3 else 1
# +     return weights + gradients + states, 2 * parameters * (reduces + gathers / ranks)

# %% edit="gathered_after" code="gathered_after_the_step"
# Source: the all-gather of stages 1 and 2 kept at stage 3
# -     passes = (2, 2, k + 1, 3 * k)[stage]
# +     passes = (2, 2, k + 1, 3 * k + 1)[stage]

# %% edit="master_whole" code="master_weights_whole"
# Source: moments taken for all of the state
# -     states = state_bytes * parameters / (ranks if stage >= 1 else 1)
# +     states = 4 * parameters + (state_bytes - 4) * parameters / (ranks if stage >= 1 else 1)

# %% edit="gigabytes" code="not_in_bytes"
# Source: the paper's figures in GB
# -     return weights + gradients + states, passes * one_pass
# +     return (weights + gradients + states) / 1e9, passes * one_pass / 1e9

# %% edit="all_reduce_at_one" code="all_gather_added_to_all_reduce"
# Source: an all-reduce and an all-gather at stage 1 alone
# -     passes = (2, 2, k + 1, 3 * k)[stage]
# +     passes = (2, 3, k + 1, 3 * k)[stage]
