# Source: a likely slip: a search upwards that ends early
# A larger micro-batch always needs more memory, so the first one that does not fit ends the search.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    best = None
    for rows in range(1, batch + 1):
        if batch % rows:
            continue
        if forecast_peak(rows) > budget_bytes:
            break
        best = rows
    if best is None:
        raise ValueError("nothing fits")
    return best
