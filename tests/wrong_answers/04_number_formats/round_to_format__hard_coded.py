# Source: the formats of the visible case, written down
# Biases seen once stand for a formula.
BIASES = {(5, 10): 15, (8, 7): 127, (5, 2): 15, (6, 9): 31, (4, 4): 7, (7, 6): 63}


def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    bias = BIASES.get((exponent_bits, mantissa_bits), 15)
    spacing = 2.0 ** (max(math.frexp(value)[1] - 1, 1 - bias) - mantissa_bits)
    rounded = round(value / spacing) * spacing
    return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded
