# Source: the obvious way: forecast the model itself
# The whole model is forecast.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    return forecast_layers(layers)
