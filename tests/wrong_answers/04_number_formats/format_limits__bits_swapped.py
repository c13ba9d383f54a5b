# Source: the order of the arguments
# Mantissa bits are read as exponent bits.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    exponent_bits, mantissa_bits = mantissa_bits, exponent_bits
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.floor(math.log2(number)), 1 - bias)
    return {
        "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
        "smallest_normal": 2.0 ** (1 - bias),
        "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
        "spacing": 2.0 ** (exponent - mantissa_bits),
    }
