# Source: NumPy logarithms and rint
# The ends are found after rounding.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    import numpy as np

    if value == 0 or np.isnan(value) or np.isinf(value):
        return "nothing"
    bias = 2 ** (exponent_bits - 1) - 1
    _, power = np.frexp(abs(value))
    step = np.exp2(float(max(int(power) - 1, 1 - bias) - mantissa_bits))
    rounded = np.rint(abs(value) / step) * step
    if rounded == 0 or rounded >= np.exp2(bias + 1.0):
        return "range"
    return "nothing" if rounded == abs(value) else "precision"
