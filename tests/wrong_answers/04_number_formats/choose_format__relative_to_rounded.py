# Source: the rounded value as the divisor
# The error is divided by the rounded value.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        errors = (kept.to(dtype).float() - kept).abs() / kept.to(dtype).float().abs()
        if errors.max() <= tolerance:
            return name
