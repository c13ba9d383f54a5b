# Source: a return that is indented too far
# The function ends after the first update.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        good = 0 if is_inf else good + 1
        scale = scale / 2 if is_inf else scale
        if good == growth_interval:
            scale, good = scale * 2, 0
        return scale
