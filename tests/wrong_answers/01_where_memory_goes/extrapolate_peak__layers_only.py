# Source: the rule of thumb: a large model is its layers
# The fixed part is forgotten.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return layers * layer_bytes
