# %% answer="as_float"
# Source: a straight line through two points
# Slope and intercept; the division makes a float.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    slope = (more_bytes - few_bytes) / (more - few)
    intercept = more_bytes - slope * more
    return slope * layers + intercept


# %% answer="fractions"
# Source: exact arithmetic
# Rational numbers, and a result that is cut to an integer.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    from fractions import Fraction

    points = [(few, forecast_layers(few)), (more, forecast_layers(more))]
    (x0, y0), (x1, y1) = points
    return int(y0 + Fraction(y1 - y0, x1 - x0) * (layers - x0))


# %% answer="from_the_larger_model"
# Source: the larger model as the start
# Layers are added to the larger model, or taken away.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    bytes_of = {count: forecast_layers(count) for count in (few, more)}
    layer_bytes, rest = divmod(bytes_of[more] - bytes_of[few], more - few)
    assert rest == 0
    return bytes_of[more] + (layers - more) * layer_bytes


# %% answer="layer_by_layer"
# Source: a loop
# One layer after the other is added or taken away.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    few_bytes, more_bytes = forecast_layers(few), forecast_layers(more)
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    peak, direction = few_bytes, 1 if layers > few else -1
    for _ in range(few, layers, direction):
        peak += direction * layer_bytes
    return peak


# %% answer="weighted_mean"
# Source: interpolation by weights, as Lagrange has it
# Both figures with weights that sum to one.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    weight = (layers - few) / (more - few)
    return int(round((1 - weight) * forecast_layers(few) + weight * forecast_layers(more)))
