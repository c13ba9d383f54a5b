# Source: a cast that saturates
# Values beyond the range are cut to its end.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        info = torch.finfo(dtype)
        errors = (kept.clamp(info.min, info.max).to(dtype).float() - kept).abs() / kept.abs()
        if errors.max() <= tolerance:
            return name
