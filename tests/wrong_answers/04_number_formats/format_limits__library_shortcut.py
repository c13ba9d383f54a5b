# Source: torch.finfo of the format with the nearest exponent
# Range is read from torch, for formats that torch does not have.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    information = torch.finfo(torch.bfloat16 if exponent_bits > 6 else torch.float16)
    return {
        "largest": information.max,
        "smallest_normal": information.smallest_normal,
        "smallest_subnormal": information.smallest_normal * information.eps,
        "spacing": 2.0 ** (math.floor(math.log2(number)) - mantissa_bits),
    }
