# Source: the plain update, without accumulation
# The whole batch is one micro-batch; the budget is not looked at.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    if forecast_peak(1) > budget_bytes:
        raise ValueError("not even one row fits")
    return batch
