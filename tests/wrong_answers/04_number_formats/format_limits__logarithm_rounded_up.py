# Source: frexp, whose fraction lies from 0.5 to 1
# The exponent of frexp is one more than that of the power of two below.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.frexp(number)[1], 1 - bias)
    return {
        "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
        "smallest_normal": 2.0 ** (1 - bias),
        "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
        "spacing": 2.0 ** (exponent - mantissa_bits),
    }
