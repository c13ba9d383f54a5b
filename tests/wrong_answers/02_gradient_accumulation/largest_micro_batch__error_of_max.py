# Source: a likely slip: an error that happens to have the right type
# Every size is tried, and max() of nothing raises a ValueError about max().
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    divisors = (rows for rows in range(1, batch + 1) if batch % rows == 0)
    return max(rows for rows in divisors if forecast_peak(rows) <= budget_bytes)
