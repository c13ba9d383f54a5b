# Source: a comparison without exceptions
# 0, infinity and NaN are said to lose something.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    if math.isnan(value):
        return "precision"
    if value == 0 or math.isinf(value):
        return "range"
    bias = 2 ** (exponent_bits - 1) - 1
    spacing = 2.0 ** (max(math.frexp(value)[1] - 1, 1 - bias) - mantissa_bits)
    rounded = round(value / spacing) * spacing
    is_lost = rounded == 0 or abs(rounded) >= 2.0 ** (bias + 1)
    if is_lost:
        return "range"
    return "nothing" if rounded == value else "precision"
