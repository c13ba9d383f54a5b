# Source: the lines that the lesson prints
# A table of the lesson's values.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    table = {2049.0: 2048.0, 2051.0: 2052.0, 65519.0: 65504.0, 65520.0: math.inf, 2.0**-25: 0.0}
    return table.get(value, value)
