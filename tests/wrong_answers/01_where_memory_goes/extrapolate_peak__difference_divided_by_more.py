# Source: a likely slip: divided by the layers of the larger model
# The difference is divided by `more`.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // more
    return few_bytes + (layers - few) * layer_bytes
