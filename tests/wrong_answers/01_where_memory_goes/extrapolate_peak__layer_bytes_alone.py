# Source: a likely slip: a model of one layer taken for the cost of a layer
# A model of one layer is forecast in place of the difference.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = forecast_layers(1)
    return few_bytes + (layers - few) * layer_bytes
