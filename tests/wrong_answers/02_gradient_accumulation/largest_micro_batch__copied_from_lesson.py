# Source: the splits of this lesson's figure of peaks
# The splits 1, 2, 4, 8 and 16 of the lesson are all that there are.
def largest_micro_batch(forecast_peak, batch: int, budget_bytes: int) -> int:
    splits = [1, 2, 4, 8, 16]
    peaks = {k: forecast_peak(batch // k) for k in splits}
    fitting = [k for k in splits if peaks[k] <= budget_bytes]
    if not fitting:
        raise ValueError("no split fits")
    return batch // fitting[0]
