# Source: an error relative to the scale of a tensor
# Small values may vanish.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        if (kept.to(dtype).float() - kept).abs().max() <= tolerance * kept.abs().max():
            return name
