# Source: accelerate.utils.find_executable_batch_size, which halved the batch after each out-of-memory error
# Halving the batch until it fits finds the largest size.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    rows = batch
    while forecast_peak(rows) > budget_bytes:
        if rows % 2:
            raise ValueError("nothing fits")
        rows //= 2
    return rows
