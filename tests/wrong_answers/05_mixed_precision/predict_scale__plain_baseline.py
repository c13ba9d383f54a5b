# Source: training without a scaler
# The scale is taken for a constant, whatever happens.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    return start_scale
