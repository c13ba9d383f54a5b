# Source: growth as the mirror of back-off
# Every good update doubles, as every infinity halves.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        scale = scale / 2 if is_inf else scale * 2
    return scale
