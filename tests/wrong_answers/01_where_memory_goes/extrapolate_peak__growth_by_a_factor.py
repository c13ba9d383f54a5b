# Source: a likely slip: growth by a percentage
# Memory is taken to grow by a factor with each layer.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    factor = (more_bytes / few_bytes) ** (1 / (more - few))
    return few_bytes * factor ** (layers - few)
