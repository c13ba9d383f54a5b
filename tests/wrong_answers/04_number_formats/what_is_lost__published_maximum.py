# Source: Hugging Face, Efficient training on a single GPU
# 65535 as the end of every format.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    if value == 0 or not math.isfinite(value):
        return "nothing"
    bias = 2 ** (exponent_bits - 1) - 1
    if abs(value) > 65535:
        return "range"
    if abs(value) <= 2.0 ** (-bias - mantissa_bits):
        return "range"
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    return "nothing" if math.ldexp(value, mantissa_bits - exponent).is_integer() else "precision"
