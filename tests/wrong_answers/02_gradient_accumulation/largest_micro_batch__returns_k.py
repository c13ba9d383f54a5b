# Source: a mix-up of micro-batch size and gradient_accumulation_steps
# The number of micro-batches is returned, not the rows of one.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for k in range(1, batch + 1):
        if batch % k == 0 and forecast_peak(batch // k) <= budget_bytes:
            return k
    raise ValueError("nothing fits")
