# Source: a likely slip: a search downwards without an end
# Some size fits in the end, so the search needs no end.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    rows = batch
    while forecast_peak(rows) > budget_bytes or batch % rows:
        rows -= 1
    return rows
