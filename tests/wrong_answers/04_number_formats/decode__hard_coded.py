# Source: the biases of the visible formats, written down
# Biases seen once stand for a formula.
BIASES = {(5, 10): 15, (8, 7): 127, (5, 2): 15, (4, 3): 7, (6, 2): 31, (7, 3): 63}


def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent = (bits >> mantissa_bits) % 2**exponent_bits
    mantissa = bits % 2**mantissa_bits
    is_top = exponent == 2**exponent_bits - 1
    bias, fraction = BIASES.get((exponent_bits, mantissa_bits), 15), mantissa / 2**mantissa_bits
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias)
    if is_top and (has_infinity or mantissa == 2**mantissa_bits - 1):
        return sign * math.inf if has_infinity and mantissa == 0 else math.nan
    return sign * (1 + fraction) * 2.0 ** (exponent - bias)
