# Source: > for >=
# 65520 becomes 65536 in fp16.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    spacing = 2.0 ** (exponent - mantissa_bits)
    rounded = round(value / spacing) * spacing
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    limit = largest + 2.0 ** (bias - mantissa_bits - 1)
    return math.copysign(math.inf, value) if abs(value) > limit else rounded
