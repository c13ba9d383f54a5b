# Source: mathematics, where ^ is a power
# In Python ^ compares bits.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    bias = 2 ^ (exponent_bits - 1) - 1
    power = math.frexp(number)[1] - 1
    return {
        "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
        "smallest_normal": 2.0 ** (1 - bias),
        "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
        "spacing": 2.0 ** (max(power, 1 - bias) - mantissa_bits),
    }
