# Source: a count that is set to 1 after an infinity
# The infinite update itself is counted as the first good one.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good_updates = scale / 2, 1
            continue
        good_updates += 1
        if good_updates >= growth_interval:
            scale, good_updates = scale * 2, 0
    return scale
