# Source: abs() before round()
# Only infinities keep their sign.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    spacing = 2.0 ** (exponent - mantissa_bits)
    rounded = round(abs(value) / spacing) * spacing
    return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded
