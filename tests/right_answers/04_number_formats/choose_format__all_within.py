# Source: a comparison for each value
# Every difference is within its own tolerance; NaN is not.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    chosen = ""
    for name in FORMATS:
        rounded = values.to(FORMATS[name]).to(values.dtype)
        is_within = (rounded - values).abs() <= tolerance * values.abs()
        if not chosen and bool(is_within.all()):
            chosen = name
    return chosen
