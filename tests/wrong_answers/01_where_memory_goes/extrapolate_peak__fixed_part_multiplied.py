# Source: a likely slip: a rule of three
# Embeddings, head and the rest are multiplied with the layers.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    return layers * few_bytes // few
