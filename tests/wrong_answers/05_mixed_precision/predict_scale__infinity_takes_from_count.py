# Source: a penalty in the place of a reset
# An infinity takes 1 from the count of good updates.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good = scale / 2, good - 1
        else:
            good += 1
            if good == growth_interval:
                scale, good = scale * 2, 0
    return scale
