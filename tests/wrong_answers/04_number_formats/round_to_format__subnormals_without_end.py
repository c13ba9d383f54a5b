# Source: precision without a look at the range
# Values below the smallest normal number keep all mantissa bits.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = math.frexp(value)[1] - 1
    spacing = math.ldexp(1.0, max(exponent - mantissa_bits, -1074))
    rounded = round(value / spacing) * spacing
    return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded
