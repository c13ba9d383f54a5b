# Source: range before digits, in both sizes
# Of equal bytes the one with more exponent bits comes first.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name in ("e5m2", "e4m3", "bf16", "fp16", "fp32"):
        dtype = FORMATS[name]
        errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
        if errors.max() <= tolerance:
            return name
