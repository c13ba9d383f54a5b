# Source: a format taken for the real numbers
# Nothing is ever lost.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    return "nothing"
