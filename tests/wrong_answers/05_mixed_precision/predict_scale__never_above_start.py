# Source: the start taken for a ceiling
# The scale never grows beyond the one that it started with.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        good_updates = 0 if is_inf else good_updates + 1
        if is_inf:
            scale /= 2
        elif good_updates == growth_interval:
            scale, good_updates = min(scale * 2, start_scale), 0
    return scale
