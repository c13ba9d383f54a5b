# Source: a loop
# The spacing is halved from that of the largest number down.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    bias = 2 ** (exponent_bits - 1) - 1
    spacing = 2.0 ** (bias - mantissa_bits)
    largest = 2.0 ** (bias + 1) - spacing
    smallest_normal = 2.0**-bias * 2
    smallest = smallest_normal / 2**mantissa_bits
    while spacing > smallest and number < spacing * 2**mantissa_bits:
        spacing /= 2
    return {
        "largest": largest,
        "smallest_normal": smallest_normal,
        "smallest_subnormal": smallest,
        "spacing": spacing,
    }
