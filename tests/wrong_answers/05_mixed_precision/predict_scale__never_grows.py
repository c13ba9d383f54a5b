# Source: a scaler that never recovers
# Back-off without growth: the scale can only fall.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    return start_scale / 2 ** sum(found_inf)
