# Source: an average
# One lost value among many does not count.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        if ((kept.to(dtype).float() - kept).abs() / kept.abs()).mean() <= tolerance:
            return name
