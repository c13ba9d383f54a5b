# Source: a division by the rounded value that had to be avoided
# Values that became 0 do not count.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
        if (errors[kept.to(dtype).float() != 0] <= tolerance).all():
            return name
