# Source: a likely slip: the smaller figure less the larger one
# The difference has the wrong sign.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (few_bytes - more_bytes) // (more - few)
    return few_bytes + (layers - few) * layer_bytes
