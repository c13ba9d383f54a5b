# Source: eps and the largest number, as torch.finfo gives them
# The lower end of the range is not asked for.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
        if torch.finfo(dtype).eps / 2 <= tolerance and kept.abs().max() <= torch.finfo(dtype).max:
            return name
