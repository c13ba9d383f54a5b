# Source: the positive half, mirrored
# A negative pattern is the positive one with its sign changed.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    half = 2 ** (exponent_bits + mantissa_bits)
    if bits >= half:
        return -decode(bits - half, exponent_bits, mantissa_bits, has_infinity)
    infinity = half - 2**mantissa_bits
    if has_infinity and bits >= infinity:
        return math.inf if bits == infinity else math.nan
    if not has_infinity and bits == half - 1:
        return math.nan
    spacing = 2.0 ** (2 - 2 ** (exponent_bits - 1) - mantissa_bits)
    while bits >= 2 ** (mantissa_bits + 1):
        bits, spacing = bits - 2**mantissa_bits, 2 * spacing
    return bits * spacing
