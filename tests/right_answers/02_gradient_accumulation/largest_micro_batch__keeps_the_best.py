# Source: a search upwards to the end
# A search upwards that goes on after a size that does not fit.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    best = 0
    for rows in range(1, batch + 1):
        fits = forecast_peak(rows) <= budget_bytes
        if fits and batch % rows == 0:
            best = rows
    if best == 0:
        raise ValueError("nothing fits")
    return best
