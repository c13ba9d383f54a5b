# Source: NumPy
# rint takes half-way to even, and spacings come from logarithms.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    import numpy as np

    if not np.isfinite(value) or value == 0.0:
        return value
    emax = 2 ** (exponent_bits - 1) - 1
    _, power = np.frexp(np.float64(value))
    scale = np.exp2(float(max(power - 1, 1 - emax) - mantissa_bits))
    rounded = np.rint(np.float64(value) / scale) * scale
    return rounded if abs(rounded) < np.exp2(emax + 1.0) else np.sign(value) * np.inf
