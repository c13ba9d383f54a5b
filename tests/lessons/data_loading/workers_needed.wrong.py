# Wrong answers to workers_needed.
# Not here: library_shortcut, because no library chooses workers.

# %% answer="plain_baseline" code="one_more_worker"
# Source: try one more
def workers_needed(log):
    wait, busy = sum(log.wait_seconds), sum(log.busy_seconds)
    return log.workers if wait < 0.05 * (wait + busy) else min(log.cores, log.workers + 1)


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20012
# Source: the answer for the log in the notebook
def workers_needed(log):
    return {(2, 16): 7, (0, 12): 4, (1, 16): 5, (3, 16): 9, (8, 16): 8, (2, 4): 4, (2, 8): 4, (3, 8): 4, (1, 8): 1}[
        log.workers, log.cores
    ]


# %% answer="copied_from_lesson" code="as_many_as_cores"
# Source: num_workers=os.cpu_count()
def workers_needed(log):
    return log.cores


# %% edit="waits_only" code="waiting_alone_taken_for_preparing"
# Source: the wait taken for the time of preparing
# -     preparing = log.workers * (wait + busy) if log.workers else wait  # of all batches, by one worker
# +     preparing = log.workers * wait if log.workers else wait

# %% edit="step_time" code="present_workers_forgotten"
# Source: one worker in mind
# -     preparing = log.workers * (wait + busy) if log.workers else wait  # of all batches, by one worker
# +     preparing = wait + busy if log.workers else wait

# %% edit="at_least_one" code="no_worker_counted_as_one"
# Source: max(1, workers)
# -     preparing = log.workers * (wait + busy) if log.workers else wait  # of all batches, by one worker
# +     preparing = max(1, log.workers) * (wait + busy)

# %% edit="times_zero" code="no_workers_give_none"
# Source: the formula without its special case
# -     preparing = log.workers * (wait + busy) if log.workers else wait  # of all batches, by one worker
# +     preparing = log.workers * (wait + busy)

# %% edit="healthy_too" code="healthy_run_changed"
# Source: the formula for every log
# -     if wait < 0.05 * (wait + busy):
# -         return log.workers

# %% edit="no_limit" code="more_than_the_cores"
# Source: the cores forgotten
# -     return min(log.cores, -int(-preparing // busy))
# +     return -int(-preparing // busy)

# %% edit="floor" code="rounded_down"
# Source: int()
# -     return min(log.cores, -int(-preparing // busy))
# +     return min(log.cores, int(preparing / busy))

# %% edit="nearest" code="rounded_down"
# Source: round()
# -     return min(log.cores, -int(-preparing // busy))
# +     return min(log.cores, round(preparing / busy))

# %% edit="medians" code="median_of_the_waits"
# Source: the median, which the text warns of
# -     wait, busy = sum(log.wait_seconds), sum(log.busy_seconds)
# +     wait, busy = (sorted(times)[len(times) // 2] for times in (log.wait_seconds, log.busy_seconds))

# %% edit="rule_of_ten_percent" code="waiting_run_left_alone"
# Source: a more generous limit
# -     if wait < 0.05 * (wait + busy):
# +     if wait < 0.1 * (wait + busy):

# %% edit="steps_that_wait" code="healthy_run_changed"
# Source: a share of steps, not of time
# -     if wait < 0.05 * (wait + busy):
# +     if sum(seconds > 0.001 for seconds in log.wait_seconds) < 0.05 * len(log.wait_seconds):

# %% edit="five_percent_allowed" code="rounded_down"
# Source: the limit of 5 % applied to the result
# -     return min(log.cores, -int(-preparing // busy))
# +     return min(log.cores, -int(-0.95 * preparing // busy))

# %% edit="one_core_for_the_trainer" code="one_core_left_free"
# Source: num_workers=os.cpu_count() - 1
# -     return min(log.cores, -int(-preparing // busy))
# +     return min(log.cores - 1, -int(-preparing // busy))

# %% edit="prefetched" code="prefetched_batches_counted"
# Source: prefetch_factor=2 taken for two batches at a time
# -     return min(log.cores, -int(-preparing // busy))
# +     return min(log.cores, -int(-preparing / 2 // busy))

# %% edit="as_a_float" code="no_whole_number"
# Source: // of two floats
# -     return min(log.cores, -int(-preparing // busy))
# +     return min(float(log.cores), -(-preparing // busy))

# %% edit="longest_wait" code="too_many_workers"
# Source: the worst step taken as the measure
# -     wait, busy = sum(log.wait_seconds), sum(log.busy_seconds)
# +     wait, busy = max(log.wait_seconds), sum(log.busy_seconds) / len(log.busy_seconds)

# %% edit="waits_added" code="too_few_workers"
# Source: the missing workers, from the waiting time alone
# -     return min(log.cores, -int(-preparing // busy))
# +     return min(log.cores, log.workers - int(-wait // busy))
