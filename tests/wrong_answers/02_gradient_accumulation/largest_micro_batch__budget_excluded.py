# Source: a likely slip: strictly less
# A peak that equals the budget does not fit.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    best = 0
    for rows in range(1, batch + 1):
        if batch % rows == 0 and forecast_peak(rows) < budget_bytes:
            best = rows
    if not best:
        raise ValueError("nothing fits")
    return best
