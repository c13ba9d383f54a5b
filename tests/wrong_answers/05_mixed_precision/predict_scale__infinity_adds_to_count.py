# Source: one counter for all updates
# An infinity adds 1 to the count of good updates.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good = scale / 2, good + 1
        else:
            good += 1
            if good == growth_interval:
                scale, good = scale * 2, 0
    return scale
