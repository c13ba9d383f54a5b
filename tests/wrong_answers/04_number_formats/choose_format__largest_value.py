# Source: the largest value for all
# Only the largest value is rounded.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
        if errors[kept.abs().argmax()] <= tolerance:
            return name
