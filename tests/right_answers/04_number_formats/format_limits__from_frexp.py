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
