# Source: k upwards instead of rows downwards
# The smallest k that fits gives the largest micro-batch.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for k in range(1, batch + 1):
        if batch % k == 0 and forecast_peak(batch // k) <= budget_bytes:
            return batch // k
    raise ValueError(f"a batch of {batch} does not fit into {budget_bytes} bytes, not even row by row")
