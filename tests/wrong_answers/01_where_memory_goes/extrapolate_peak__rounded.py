# Source: the lesson's figures, which are rounded to MiB
# The two figures are rounded before they are used.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    few_mib, more_mib = round(few_bytes / MIB), round(more_bytes / MIB)
    layer_mib = (more_mib - few_mib) / (more - few)
    return (few_mib + (layers - few) * layer_mib) * MIB
