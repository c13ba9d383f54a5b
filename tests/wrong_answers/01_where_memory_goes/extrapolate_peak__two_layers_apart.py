# Source: the lesson's figures: 2 and 4 layers
# The two models are taken to be two layers apart.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // 2
    return few_bytes + (layers - few) * layer_bytes
