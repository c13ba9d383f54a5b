# Source: a likely slip: the last step is missing
# The bytes of one layer are returned.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    return (more_bytes - few_bytes) // (more - few)
