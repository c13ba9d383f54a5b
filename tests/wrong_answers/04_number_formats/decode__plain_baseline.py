# Source: the bits read as an integer
# The pattern itself is the value.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    return float(bits)
