# Source: a comparison with the update before
# The second of two infinities in a row does not halve the scale.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good, was_inf = start_scale, 0, False
    for is_inf in found_inf:
        good = 0 if is_inf else good + 1
        if is_inf and not was_inf:
            scale /= 2
        if good == growth_interval:
            scale, good = scale * 2, 0
        was_inf = is_inf
    return scale
