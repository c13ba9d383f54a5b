# Source: a value that is not to vanish
# 2**-25 becomes 2**-24 in fp16.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    smallest = 2.0 ** (2 - 2 ** (exponent_bits - 1) - mantissa_bits)
    if smallest / 2 <= abs(value) < smallest:
        return math.copysign(smallest, value)
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    spacing = 2.0 ** (exponent - mantissa_bits)
    rounded = round(value / spacing) * spacing
    return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded
