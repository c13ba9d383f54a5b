# Source: numbers as numpy has them
# The result is a number of numpy.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    import numpy

    scale, good_updates = numpy.float64(start_scale), 0
    for is_inf in found_inf:
        good_updates = (good_updates + 1) * (not is_inf)
        scale *= 0.5 if is_inf else 2.0 if good_updates == growth_interval else 1.0
        good_updates %= growth_interval
    return scale
