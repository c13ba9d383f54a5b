# Source: "bf16 will prevent overflow"
# Only the largest value is looked at.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        if kept.abs().max() <= torch.finfo(dtype).max:
            return name
