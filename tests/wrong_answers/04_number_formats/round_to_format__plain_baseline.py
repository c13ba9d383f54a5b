# Source: no rounding at all
# The value comes back as it is.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    return value
