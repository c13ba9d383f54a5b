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
