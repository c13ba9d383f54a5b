# Source: the bound of half an eps
# Values that a format holds exactly are refused.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        if (
            torch.finfo(dtype).eps / 2 <= tolerance
            and kept.abs().max() <= torch.finfo(dtype).max
            and kept.abs().min() >= torch.finfo(dtype).smallest_normal
        ):
            return name
