# Source: a likely slip: a start at one model, layers counted from the other
# The line starts at the larger model, and layers are counted from the smaller one.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return more_bytes + (layers - few) * layer_bytes
