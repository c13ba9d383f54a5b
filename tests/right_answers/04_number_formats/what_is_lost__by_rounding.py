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
