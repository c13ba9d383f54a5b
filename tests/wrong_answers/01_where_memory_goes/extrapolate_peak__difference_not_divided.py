# Source: a likely slip: the difference is taken for one layer
# The difference of the two models is not divided by their layers.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = more_bytes - few_bytes
    fixed_bytes = few_bytes - few * layer_bytes
    return fixed_bytes + layers * layer_bytes
