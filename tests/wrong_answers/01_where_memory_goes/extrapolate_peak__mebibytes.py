# Source: the lesson's figures, which are in MiB
# The right peak in the wrong unit.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return (few_bytes + (layers - few) * layer_bytes) // MIB
