# Source: the growth interval of the visible history
# The growth interval is 4, whatever the argument says.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good == 4:
                scale, good = scale * 2, 0
    return scale
