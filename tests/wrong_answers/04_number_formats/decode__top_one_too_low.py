# Source: an exponent that is one too low
# The exponent below the top is taken for the top.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent = (bits >> mantissa_bits) % 2**exponent_bits
    mantissa = bits % 2**mantissa_bits
    is_top = exponent == 2**exponent_bits - 1
    bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias)
    if exponent == 2**exponent_bits - 2:
        return sign * math.inf
    return sign * (1 + fraction) * 2.0 ** (exponent - bias)
