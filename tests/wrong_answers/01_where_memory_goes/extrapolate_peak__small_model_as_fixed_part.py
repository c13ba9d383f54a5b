# Source: a likely slip: the smaller model as the starting point
# The layers of the smaller model are counted twice.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return few_bytes + layers * layer_bytes
