# Source: the larger model as the start
# Layers are added to the larger model, or taken away.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    bytes_of = {count: forecast_layers(count) for count in (few, more)}
    layer_bytes, rest = divmod(bytes_of[more] - bytes_of[few], more - few)
    assert rest == 0
    return bytes_of[more] + (layers - more) * layer_bytes
