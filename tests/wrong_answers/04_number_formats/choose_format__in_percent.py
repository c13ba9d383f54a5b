# Source: percent for a share
# The error is multiplied by 100.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
        if errors.max() * 100 <= tolerance:
            return name
    return "fp32"
