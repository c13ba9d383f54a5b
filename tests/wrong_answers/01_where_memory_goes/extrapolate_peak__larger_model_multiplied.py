# Source: a likely slip: a rule of three from the larger model
# The larger small model is scaled, fixed part included.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    return more_bytes / more * layers
