# Source: a division by every value
# 0 / 0 is NaN, and nothing is within the tolerance.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values
    for name, dtype in FORMATS.items():
        if ((kept.to(dtype).float() - kept).abs() / kept.abs()).max() <= tolerance:
            return name
