# Source: a likely slip: the mean of two bytes per layer
# Each small model is divided by its layers, and the mean is taken.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (few_bytes / few + more_bytes / more) / 2
    return layers * layer_bytes
