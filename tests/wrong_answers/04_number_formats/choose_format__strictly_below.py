# Source: < for <=
# An error of the size of the tolerance is refused.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
        if errors.max() < tolerance:
            return name
    return "fp32"
