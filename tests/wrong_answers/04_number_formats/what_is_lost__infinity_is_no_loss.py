# Source: a test for infinity after the rounding
# A value that becomes infinite is said to lose nothing.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    if value == 0 or not math.isfinite(value):
        return "nothing"
    bias = 2 ** (exponent_bits - 1) - 1
    spacing = 2.0 ** (max(math.frexp(value)[1] - 1, 1 - bias) - mantissa_bits)
    rounded = round(value / spacing) * spacing
    is_lost = rounded == 0 or abs(rounded) >= 2.0 ** (bias + 1)
    if abs(rounded) >= 2.0 ** (bias + 1):
        return "nothing"
    if rounded == 0:
        return "range"
    return "nothing" if rounded == value else "precision"
