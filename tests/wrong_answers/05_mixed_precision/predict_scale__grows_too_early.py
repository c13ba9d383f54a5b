# Source: a count that is compared before it is raised
# The update that completes the interval is taken to be one earlier.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good_updates = scale / 2, 0
            continue
        good_updates += 1
        if good_updates >= max(growth_interval - 1, 1):
            scale, good_updates = scale * 2, 0
    return scale
