# Source: math.log, whose base is e
# The power of two comes from a natural logarithm.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    bias = 2 ** (exponent_bits - 1) - 1
    power = math.floor(math.log(number))
    return {
        "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
        "smallest_normal": 2.0 ** (1 - bias),
        "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
        "spacing": 2.0 ** (max(power, 1 - bias) - mantissa_bits),
    }
