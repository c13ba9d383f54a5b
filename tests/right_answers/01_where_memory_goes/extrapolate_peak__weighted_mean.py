# Source: interpolation by weights, as Lagrange has it
# Both figures with weights that sum to one.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    weight = (layers - few) / (more - few)
    return int(round((1 - weight) * forecast_layers(few) + weight * forecast_layers(more)))
