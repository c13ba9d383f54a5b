# Source: the lesson's sentence on GradScaler's defaults
# The library's defaults stand in the place of the arguments.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = 65536.0, 0
    for is_inf in found_inf:
        good_updates = 0 if is_inf else good_updates + 1
        if is_inf:
            scale /= 2
        elif good_updates == growth_interval:
            scale, good_updates = scale * 2, 0
    return scale
