# %% answer="means"
def workers_needed(log):
    import math

    steps = len(log.busy_seconds)
    busy = sum(log.busy_seconds) / steps
    step = busy + sum(log.wait_seconds) / steps
    if busy > 0.95 * step:
        return log.workers
    prepare = step * log.workers if log.workers > 0 else step - busy
    return min(math.ceil(prepare / busy), log.cores)


# %% answer="from_the_utilisation"
def workers_needed(log):
    used = sum(log.busy_seconds) / (sum(log.busy_seconds) + sum(log.wait_seconds))
    if 1 - used < 0.05:
        return log.workers
    needed = log.workers / used if log.workers else 1 / used - 1
    return min(log.cores, int(needed) + (needed % 1 > 0))


# %% answer="search"
def workers_needed(log):
    busy, total = sum(log.busy_seconds), sum(log.busy_seconds) + sum(log.wait_seconds)
    if total - busy < 0.05 * total:
        return log.workers
    preparing = total * log.workers or total - busy
    return next(workers for workers in range(1, log.cores + 1) if workers == log.cores or preparing / workers <= busy)
