# %% answer="plain_baseline" code="whole_batch"
# Source: the plain update, without accumulation
# The whole batch is one micro-batch; the budget is not looked at.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    if forecast_peak(1) > budget_bytes:
        raise ValueError("not even one row fits")
    return batch


# %% answer="hard_coded" code="raised_key_error" seed=20011
# Source: the answers of the visible case, written down
# Because: the table has no entry for this job, and the exception names the line
# A table of the jobs seen once stands for a search.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    seen = {
        (72, 125376512): 12,
        (84, 120266752): 12,
        (32, 140705792): 32,
        (24, 108003328): None,
    }
    size = seen[batch, budget_bytes]
    if size is None:
        raise ValueError("nothing fits")
    return size


# %% answer="copied_from_lesson" code="splits_of_the_lesson"
# Source: the splits of this lesson's figure of peaks
# The splits 1, 2, 4, 8 and 16 of the lesson are all that there are.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    splits = [1, 2, 4, 8, 16]
    peaks = {k: forecast_peak(batch // k) for k in splits}
    fitting = [k for k in splits if peaks[k] <= budget_bytes]
    if not fitting:
        raise ValueError("no split fits")
    return batch // fitting[0]


# %% answer="splits_up_to_8" code="splits_of_the_lesson"
# Source: the splits that the lesson meters in its first figure
# The first of four splits that fits is returned.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for k in (1, 2, 4, 8):
        if forecast_peak(batch // k) <= budget_bytes:
            return batch // k
    raise ValueError("no split fits")


# %% answer="splits_up_to_16" code="splits_of_the_lesson" seed=20011
# Source: a fresh instructor: the splits of the lesson and one more
# At this seed a 16th of the batch fits, and an eighth does not.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for power in range(5):
        if forecast_peak(batch // 2**power) <= budget_bytes:
            return batch // 2**power
    raise ValueError("no split fits")


# %% answer="budget_excluded" code="budget_excluded"
# Source: a likely mistake: strictly less
# A peak that equals the budget does not fit.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    best = 0
    for rows in range(1, batch + 1):
        if batch % rows == 0 and forecast_peak(rows) < budget_bytes:
            best = rows
    if not best:
        raise ValueError("nothing fits")
    return best


# %% answer="returns_k" code="count_for_size"
# Source: a mix-up of micro-batch size and gradient_accumulation_steps
# The number of micro-batches is returned, not the rows of one.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for k in range(1, batch + 1):
        if batch % k == 0 and forecast_peak(batch // k) <= budget_bytes:
            return k
    raise ValueError("nothing fits")


# %% answer="error_of_max" code="error_without_reason"
# Source: a likely mistake: an error that happens to have the right type
# Every size is tried, and max() of nothing raises a ValueError about max().
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    divisors = (rows for rows in range(1, batch + 1) if batch % rows == 0)
    return max(rows for rows in divisors if forecast_peak(rows) <= budget_bytes)


# %% answer="halving" code="halves_only"
# Source: accelerate.utils.find_executable_batch_size, which halved the batch after each out-of-memory error
# Halving the batch until it fits finds the largest size.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    rows = batch
    while forecast_peak(rows) > budget_bytes:
        if rows % 2:
            raise ValueError("nothing fits")
        rows //= 2
    return rows


# %% answer="divisor_forgotten" code="not_a_divisor"
# Source: a likely mistake: a search over every number of rows
# Any number of rows will do, the last micro-batch takes what is left.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for rows in range(batch, 0, -1):
        if forecast_peak(rows) <= budget_bytes:
            return rows
    raise ValueError("nothing fits")


# %% answer="one_row_when_nothing_fits" code="nothing_fits_not_raised"
# Source: a likely mistake: max(..., default=1)
# When nothing fits, the smallest size is still the best answer.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    fitting = [rows for rows in range(1, batch + 1) if batch % rows == 0 and forecast_peak(rows) <= budget_bytes]
    return max(fitting, default=1)


# %% answer="one_row_decides" code="one_row_decides"
# Source: a likely mistake: the smallest micro-batch is taken to need the least
# When one row does not fit, nothing is taken to fit, though the whole batch holds no accumulated gradient.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    if forecast_peak(1) > budget_bytes:
        raise ValueError("not even one row fits")
    return max(rows for rows in range(1, batch + 1) if batch % rows == 0 and forecast_peak(rows) <= budget_bytes)


# %% answer="smallest_that_fits" code="one_row_only"
# Source: a likely mistake: memory alone is minimised
# The smallest micro-batch saves most, so it is the best.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    if forecast_peak(1) > budget_bytes:
        raise ValueError("not even one row fits")
    return 1


# %% answer="powers_of_two" code="powers_of_two_only"
# Source: a common rule: batch sizes are powers of two
# Only powers of two are sensible micro-batch sizes.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    fitting = []
    rows = 1
    while batch % rows == 0:
        if forecast_peak(rows) <= budget_bytes:
            fitting.append(rows)
        rows *= 2
    if not fitting:
        raise ValueError("nothing fits")
    return max(fitting)


# %% answer="stops_at_first_failure" code="stopped_at_first_failure"
# Source: a likely mistake: a search upwards that ends early
# A larger micro-batch always needs more memory, so the first one that does not fit ends the search.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    best = None
    for rows in range(1, batch + 1):
        if batch % rows:
            continue
        if forecast_peak(rows) > budget_bytes:
            break
        best = rows
    if best is None:
        raise ValueError("nothing fits")
    return best


# %% answer="floor_division" code="uneven_last_micro_batch"
# Source: a likely mistake: micro-batch size as batch // gradient_accumulation_steps
# Integer division of the batch by k always gives equal micro-batches.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for k in range(1, batch + 1):
        rows = batch // k
        if forecast_peak(rows) <= budget_bytes:
            return rows
    raise ValueError("nothing fits")


# %% answer="zero_when_nothing_fits" code="zero_rows_returned"
# Source: a likely mistake: max(..., default=0)
# When nothing fits, zero rows are returned, and the caller divides by them.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    fitting = [rows for rows in range(1, batch + 1) if batch % rows == 0 and forecast_peak(rows) <= budget_bytes]
    return max(fitting, default=0)


# %% answer="closest_to_the_budget" code="best_used_budget"
# Source: a likely mistake: the size that uses most of the budget
# The peak is taken for the measure of the size.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    sizes = [size for size in range(1, batch + 1) if batch % size == 0 and forecast_peak(size) <= budget_bytes]
    if not sizes:
        raise ValueError("no micro-batch fits the budget")
    return max(sizes, key=forecast_peak)


# %% answer="whole_batch_never_tried" code="whole_batch_left_out"
# Source: a likely mistake: divisors up to half of the batch
# The batch itself is no candidate.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for size in range(batch // 2, 0, -1):
        if batch % size == 0 and forecast_peak(size) <= budget_bytes:
            return size
    raise ValueError("no micro-batch fits the budget")


# %% answer="reserve" code="reserve_kept"
# Source: practice: a tenth of the memory is kept free
# The budget is made smaller than it is.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for size in range(batch, 0, -1):
        if batch % size == 0 and forecast_peak(size) <= 0.9 * budget_bytes:
            return size
    raise ValueError("no micro-batch fits the budget")
