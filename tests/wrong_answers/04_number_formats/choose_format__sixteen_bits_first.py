# Source: a guide without fp8
# The formats of 8 bits are left out.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in list(FORMATS.items())[2:]:
        if ((kept.to(dtype).float() - kept).abs() / kept.abs()).max() <= tolerance:
            return name
