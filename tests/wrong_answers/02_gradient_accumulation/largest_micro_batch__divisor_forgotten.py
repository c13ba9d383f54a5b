# Source: a likely slip: a search over every number of rows
# Any number of rows will do, the last micro-batch takes what is left.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    for rows in range(batch, 0, -1):
        if forecast_peak(rows) <= budget_bytes:
            return rows
    raise ValueError("nothing fits")
