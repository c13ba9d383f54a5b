# Source: back-off as a restart
# An infinity sets the scale back to where it started.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        good_updates = 0 if is_inf else good_updates + 1
        if is_inf:
            scale = start_scale
        elif good_updates == growth_interval:
            scale, good_updates = scale * 2, 0
    return scale
