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
