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
