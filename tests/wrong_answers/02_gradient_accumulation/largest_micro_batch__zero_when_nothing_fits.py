# Source: a likely slip: max(..., default=0)
# When nothing fits, zero rows are returned, and the caller divides by them.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    fitting = [rows for rows in range(1, batch + 1) if batch % rows == 0 and forecast_peak(rows) <= budget_bytes]
    return max(fitting, default=0)
