# Source: NumPy numbers
# The parts are NumPy integers and the value is a NumPy float.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    import numpy as np

    stored = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = np.float64(bits & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    sign = np.float64(-1) if bits >> (exponent_bits + mantissa_bits) & 1 else np.float64(1)
    bias = (1 << (exponent_bits - 1)) - 1
    if stored + 1 == 1 << exponent_bits:
        if has_infinity:
            return np.nan if fraction else sign * np.inf
        if fraction == 1 - np.exp2(-mantissa_bits):
            return np.nan
    if stored:
        return sign * (1 + fraction) * np.exp2(stored - bias)
    return sign * fraction * np.exp2(1 - bias)
