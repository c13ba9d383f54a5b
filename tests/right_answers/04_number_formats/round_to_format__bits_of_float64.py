# Source: the bits of a float64
# The mantissa of float64 is rounded as an integer.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    import struct

    bias = 2 ** (exponent_bits - 1) - 1
    pattern = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
    stored, mantissa = pattern >> 52, pattern & (2**52 - 1)
    if stored == 2047:
        return value
    cut = 52 - mantissa_bits + max(1 - bias - (stored - 1023), 0)
    whole = mantissa + 2**52 if stored else mantissa
    kept, rest = whole >> cut, whole & ((1 << cut) - 1)
    half = 1 << (cut - 1)
    kept += rest > half or (rest == half and kept & 1)
    size = kept * 2.0 ** (max(stored - 1023, 1 - bias) - mantissa_bits)
    return math.copysign(math.inf if size >= 2.0 ** (bias + 1) else size, value)
