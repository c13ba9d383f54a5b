# Source: the value of a stored exponent and mantissa
# Each limit is the value of one pattern, or the difference of two.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    bias, steps = 2 ** (exponent_bits - 1) - 1, 2**mantissa_bits

    def value(exponent, mantissa):
        if exponent == 0:
            return mantissa / steps * 2.0 ** (1 - bias)
        return (steps + mantissa) / steps * 2.0 ** (exponent - bias)

    stored = 1
    while value(stored + 1, 0) <= number:
        stored += 1
    return {
        "largest": value(2**exponent_bits - 2, steps - 1),
        "smallest_normal": value(1, 0),
        "smallest_subnormal": value(0, 1),
        "spacing": value(stored, 1) - value(stored, 0),
    }
