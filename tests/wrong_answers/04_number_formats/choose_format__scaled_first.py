# Source: the lesson's remark on scales
# Each tensor is moved into the range first.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        scale = 2.0 ** torch.floor(torch.log2(torch.finfo(dtype).max / kept.abs().max() / 2))
        errors = ((kept * scale).to(dtype).float() / scale - kept).abs() / kept.abs()
        if errors.max() <= tolerance:
            return name
