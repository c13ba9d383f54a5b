# Source: the lesson's worked example, with its 15
# One formula with the bias of fp16 for all patterns.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent = (bits >> mantissa_bits) % 2**exponent_bits
    mantissa = bits % 2**mantissa_bits
    is_top = exponent == 2**exponent_bits - 1
    return sign * (1 + mantissa / 2**mantissa_bits) * 2.0 ** (exponent - 15)
