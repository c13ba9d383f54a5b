# Source: max() for the largest absolute value
# A large negative value is not seen.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        if kept.max() <= torch.finfo(dtype).max:
            return name
