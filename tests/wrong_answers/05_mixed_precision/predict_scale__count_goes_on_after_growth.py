# Source: a missing reset, with == in the comparison
# The count goes on after a growth, so that the scale doubles once in a row.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good == growth_interval:
                scale *= 2
    return scale
