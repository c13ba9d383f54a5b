# Source: survey of courses, lesson 05: 65,536 for 32,768 at step 4
# The count of good updates goes on through an infinity.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale /= 2
            continue
        good_updates += 1
        if good_updates == growth_interval:
            scale, good_updates = scale * 2, 0
    return scale
