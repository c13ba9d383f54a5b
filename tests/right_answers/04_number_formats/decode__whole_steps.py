# Source: a whole number of the smallest steps
# The mantissa with its 1 in front is an integer, and ldexp moves it into place.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    negative, magnitude = divmod(bits, 1 << (exponent_bits + mantissa_bits))
    stored, mantissa = divmod(magnitude, 1 << mantissa_bits)
    last = (1 << exponent_bits) - 1
    if stored == last and has_infinity:
        value = math.nan if mantissa else math.inf
    elif magnitude == (1 << (exponent_bits + mantissa_bits)) - 1 and not has_infinity:
        value = math.nan
    else:
        implicit = (stored > 0) << mantissa_bits
        lowest = 2 - (1 << (exponent_bits - 1)) - mantissa_bits
        value = math.ldexp(implicit + mantissa, lowest + max(stored - 1, 0))
    return -value if negative else value
