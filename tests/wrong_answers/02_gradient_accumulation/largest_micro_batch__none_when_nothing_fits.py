# Source: a likely slip: a loop that ends without an answer
# A function that finds nothing may return None.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for k in range(1, batch + 1):
        if batch % k == 0 and forecast_peak(batch // k) <= budget_bytes:
            return batch // k
