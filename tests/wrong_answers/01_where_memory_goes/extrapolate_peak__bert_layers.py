# Source: the lesson's model: 24 layers
# 24 layers are taken for every model.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return more_bytes + (24 - more) * layer_bytes
