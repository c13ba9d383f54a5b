# Source: PyTorch's first scale taken for the largest
# The scale never grows beyond 65,536.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good == growth_interval:
                scale, good = min(scale * 2, 65536.0), 0
    return scale
