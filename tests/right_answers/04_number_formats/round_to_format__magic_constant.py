# Source: a large constant that pushes the last bits out
# Adding and subtracting a large number rounds to even in float64.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    bias = 2 ** (exponent_bits - 1) - 1
    size = abs(value)
    if size >= 2.0 ** (bias + 1):
        return value * math.inf
    if size != size:
        return value
    power = 2.0 ** (1 - bias)
    while power * 2 <= size:
        power *= 2
    constant = 1.5 * 2.0 ** (52 - mantissa_bits) * power
    size = (size + constant) - constant
    size = math.inf if size == 2.0 ** (bias + 1) else size
    return size if value > 0 else -size
