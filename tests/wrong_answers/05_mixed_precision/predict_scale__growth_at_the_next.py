# Source: the growth at the top of the loop
# The scale doubles at the beginning of the next update.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        if good == growth_interval:
            scale, good = scale * 2, 0
        good += 1
        if is_inf:
            scale, good = scale / 2, 0
    return scale
