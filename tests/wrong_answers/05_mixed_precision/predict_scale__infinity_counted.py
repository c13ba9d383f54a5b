# Source: a count of all updates
# The count is raised before it is asked whether the update was good.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        good_updates += 1
        if is_inf:
            scale /= 2
        if good_updates == growth_interval:
            scale, good_updates = scale * 2, 0
    return scale
