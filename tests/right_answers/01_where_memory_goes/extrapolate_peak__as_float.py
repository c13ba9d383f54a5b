# Source: a straight line through two points
# Slope and intercept; the division makes a float.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    slope = (more_bytes - few_bytes) / (more - few)
    intercept = more_bytes - slope * more
    return slope * layers + intercept
