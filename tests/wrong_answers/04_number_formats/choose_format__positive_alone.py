# Source: values > 0 for values != 0
# Negative values are not looked at.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values > 0]
    for name, dtype in FORMATS.items():
        if ((kept.to(dtype).float() - kept) / kept).abs().max() <= tolerance:
            return name
