# Source: eps, and no look at the values
# The range is not asked for.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        if torch.finfo(dtype).eps / 2 <= tolerance:
            return name
