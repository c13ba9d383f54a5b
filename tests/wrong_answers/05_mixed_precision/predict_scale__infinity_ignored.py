# Source: a loop over the number of updates
# All updates count as good ones.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    return start_scale * 2.0 ** (len(found_inf) // growth_interval)
