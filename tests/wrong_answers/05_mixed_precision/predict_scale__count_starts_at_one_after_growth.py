# Source: an off-by-one in the reset
# The count begins again at 1 after a growth.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good >= growth_interval:
                scale, good = scale * 2, 1
    return scale
