# Source: a likely slip: micro-batch size as batch // gradient_accumulation_steps
# Integer division of the batch by k always gives equal micro-batches.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for k in range(1, batch + 1):
        rows = batch // k
        if forecast_peak(rows) <= budget_bytes:
            return rows
    raise ValueError("nothing fits")
