# Source: a filter in front of the rules
# Infinities are filtered out, as if these updates had not been.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            continue
        good_updates += 1
        if good_updates == growth_interval:
            scale, good_updates = scale * 2, 0
    return scale
