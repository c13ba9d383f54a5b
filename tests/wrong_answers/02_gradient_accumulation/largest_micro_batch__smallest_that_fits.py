# Source: a likely slip: memory alone is minimised
# The smallest micro-batch saves most, so it is the best.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    if forecast_peak(1) > budget_bytes:
        raise ValueError("not even one row fits")
    return 1
