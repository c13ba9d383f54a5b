# Source: all sizes at once
# Every size is tried, and the error of max() is replaced by one that says what is wrong.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    divisors = (rows for rows in range(1, batch + 1) if batch % rows == 0)
    try:
        return max(rows for rows in divisors if forecast_peak(rows) <= budget_bytes)
    except ValueError:
        raise ValueError(f"nothing fits into {budget_bytes} bytes") from None
