# Source: half() to make two formats fit
# The errors are computed in fp16.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        errors = ((kept.to(dtype).half() - kept.half()) / kept.half()).abs()
        if errors.max() <= tolerance:
            return name
    return "fp32"
