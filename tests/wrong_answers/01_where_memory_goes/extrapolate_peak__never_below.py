# Source: a likely slip: a guard against negative numbers
# A model smaller than both is given the smaller one's peak.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) / (more - few)
    return few_bytes + max(0, layers - few) * layer_bytes
