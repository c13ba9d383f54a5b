# Source: the best format for the cheapest
# The format with the smallest error is chosen.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    errors = {name: (kept.to(dtype).float() - kept).div(kept).abs().max().item() for name, dtype in FORMATS.items()}
    return min(errors, key=errors.get)
