# Source: the lesson's 65504 and 65520
# The largest number of fp16 ends every format.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    spacing = 2.0 ** (exponent - mantissa_bits)
    rounded = round(value / spacing) * spacing
    return math.copysign(math.inf, value) if abs(rounded) > 65504 else rounded
