# Source: a look at the range
# Precision is not asked for.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        if kept.abs().max() <= torch.finfo(dtype).max and kept.abs().min() >= torch.finfo(dtype).smallest_normal:
            return name
