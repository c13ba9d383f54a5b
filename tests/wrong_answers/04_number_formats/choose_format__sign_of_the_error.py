# Source: a difference without its absolute value
# Errors of values that are rounded down count as negative.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        if ((kept.to(dtype).float() - kept) / kept.abs()).max() <= tolerance:
            return name
