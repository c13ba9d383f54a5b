# Source: exact arithmetic
# Rational numbers, and a result that is cut to an integer.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    from fractions import Fraction

    points = [(few, forecast_layers(few)), (more, forecast_layers(more))]
    (x0, y0), (x1, y1) = points
    return int(y0 + Fraction(y1 - y0, x1 - x0) * (layers - x0))
