# Source: a loop
# One layer after the other is added or taken away.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    peak, direction = few_bytes, 1 if layers > few else -1
    for _ in range(few, layers, direction):
        peak += direction * layer_bytes
    return peak
