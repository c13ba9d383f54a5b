# Source: a relative error in the norm
# Small values may vanish.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        if (kept.to(dtype).double() - kept.double()).norm() <= tolerance * kept.double().norm():
            return name
