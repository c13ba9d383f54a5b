# %% answer="by_number_of_micro_batches"
# Source: k upwards instead of rows downwards
# The smallest k that fits gives the largest micro-batch.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for k in range(1, batch + 1):
        if batch % k == 0 and forecast_peak(batch // k) <= budget_bytes:
            return batch // k
    raise ValueError(f"a batch of {batch} does not fit into {budget_bytes} bytes, not even row by row")


# %% answer="divisors_by_factors"
# Source: divisors in pairs up to the square root
# Divisors come in pairs; a filter keeps those that fit.
import math


def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    small = [rows for rows in range(1, math.isqrt(batch) + 1) if batch % rows == 0]
    divisors = sorted({*small, *(batch // rows for rows in small)}, reverse=True)
    fitting = filter(lambda rows: forecast_peak(rows) <= budget_bytes, divisors)
    largest = next(fitting, None)
    if largest is None:
        raise ValueError("nothing fits")
    return largest


# %% answer="keeps_the_best"
# Source: a search upwards to the end
# A search upwards that goes on after a size that does not fit.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    best = 0
    for rows in range(1, batch + 1):
        fits = forecast_peak(rows) <= budget_bytes
        if fits and batch % rows == 0:
            best = rows
    if best == 0:
        raise ValueError("nothing fits")
    return best


# %% answer="max_with_a_reason"
# Source: all sizes at once
# Every size is tried, and the error of max() is replaced by one that says what is wrong.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    divisors = (rows for rows in range(1, batch + 1) if batch % rows == 0)
    try:
        return max(rows for rows in divisors if forecast_peak(rows) <= budget_bytes)
    except ValueError:
        raise ValueError(f"nothing fits into {budget_bytes} bytes") from None
