# %% answer="by_patterns"
# Source: the value of a stored exponent and mantissa
# Each limit is the value of one pattern, or the difference of two.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    bias, steps = 2 ** (exponent_bits - 1) - 1, 2**mantissa_bits

    def value(exponent, mantissa):
        if exponent == 0:
            return mantissa / steps * 2.0 ** (1 - bias)
        return (steps + mantissa) / steps * 2.0 ** (exponent - bias)

    stored = 1
    while value(stored + 1, 0) <= number:
        stored += 1
    return {
        "largest": value(2**exponent_bits - 2, steps - 1),
        "smallest_normal": value(1, 0),
        "smallest_subnormal": value(0, 1),
        "spacing": value(stored, 1) - value(stored, 0),
    }


# %% answer="from_frexp"
# Source: the fraction and the exponent of a float
# frexp has its fraction from 0.5 to 1, so its exponent is one more.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    lowest = 2 - 2 ** (exponent_bits - 1)
    power = math.frexp(number)[1] - 1
    return dict(
        largest=math.ldexp(2 ** (mantissa_bits + 1) - 1, 1 - lowest - mantissa_bits),
        smallest_normal=math.ldexp(1, lowest),
        smallest_subnormal=math.ldexp(1, lowest - mantissa_bits),
        spacing=math.ldexp(1, (power if power > lowest else lowest) - mantissa_bits),
    )


# %% answer="spacing_by_halving"
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


# %% answer="with_torch"
# Source: logarithms and powers of torch, in float64
# Tensors of one element are numbers too.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    two = torch.tensor(2.0, dtype=torch.float64)
    bias = 2 ** (exponent_bits - 1) - 1
    smallest_normal = two ** (1 - bias)
    smallest = smallest_normal * two**-mantissa_bits
    power = torch.log2(torch.tensor(number, dtype=torch.float64)).floor()
    return {
        "spacing": torch.maximum(two**power * two**-mantissa_bits, smallest),
        "smallest_subnormal": smallest,
        "smallest_normal": smallest_normal,
        "largest": 4 / smallest_normal - two ** (bias - mantissa_bits),
    }
