# Source: a likely slip: the smallest micro-batch is taken to need the least
# When one row does not fit, nothing is taken to fit, though the whole batch holds no accumulated gradient.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    if forecast_peak(1) > budget_bytes:
        raise ValueError("not even one row fits")
    return max(rows for rows in range(1, batch + 1) if batch % rows == 0 and forecast_peak(rows) <= budget_bytes)
