# Source: the published rules, as the lesson quotes them
# 65535, and underflow as a lack of precision.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    if abs(value) > 65535:
        return "range"
    if abs(value) < 2**-14:
        return "precision"
    return "nothing"
