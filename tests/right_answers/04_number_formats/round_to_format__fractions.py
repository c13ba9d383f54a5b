# Source: exact arithmetic
# A whole number of steps is found with fractions.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    from fractions import Fraction

    if math.isnan(value) or math.isinf(value) or not value:
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    exact = abs(Fraction(value))
    step = Fraction(2) ** (1 - bias - mantissa_bits)
    while exact >= step * 2 ** (mantissa_bits + 1):
        step *= 2
    whole, rest = divmod(exact, step)
    if 2 * rest > step or (2 * rest == step and whole % 2):
        whole += 1
    result = float(whole * step) if whole * step < 2 ** (bias + 1) else math.inf
    return math.copysign(result, value)
