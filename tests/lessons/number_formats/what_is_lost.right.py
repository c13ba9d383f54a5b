# %% answer="by_rounding"
# Source: a rounding, and a comparison
# The value is rounded exactly and compared.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    from fractions import Fraction

    if not math.isfinite(value):
        return "nothing"
    bias = 2 ** (exponent_bits - 1) - 1
    exact = Fraction(abs(value))
    step = Fraction(2) ** (1 - bias - mantissa_bits)
    while exact >= step * 2 ** (mantissa_bits + 1):
        step *= 2
    rounded = round(exact / step) * step
    if rounded == exact and rounded < 2 ** (bias + 1):
        return "nothing"
    return "range" if not rounded or rounded >= 2 ** (bias + 1) else "precision"


# %% answer="numpy"
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


# %% answer="remainder"
# Source: math.fmod
# A number of the format leaves no remainder over its spacing.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    size = abs(value)
    emax = 2 ** (exponent_bits - 1) - 1
    smallest = math.ldexp(1.0, 1 - emax - mantissa_bits)
    if size == math.inf or size != size or size == 0.0:
        return "nothing"
    if 2 * size <= smallest or size >= math.ldexp(2 ** (mantissa_bits + 2) - 1, emax - mantissa_bits - 1):
        return "range"
    spacing = smallest
    while spacing * 2 ** (mantissa_bits + 1) <= size:
        spacing *= 2
    return "precision" if math.fmod(size, spacing) else "nothing"
