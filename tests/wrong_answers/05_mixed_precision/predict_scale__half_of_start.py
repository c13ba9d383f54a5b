# Source: the first scale in the place of the present one
# An infinity sets the scale to half of the first one.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good = start_scale / 2, 0
        else:
            good += 1
            if good == growth_interval:
                scale, good = scale * 2, 0
    return scale
