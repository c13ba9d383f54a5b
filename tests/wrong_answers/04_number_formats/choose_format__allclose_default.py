# Source: torch.allclose, whose atol is 1e-8
# Values far below 1e-8 may vanish.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    for name, dtype in FORMATS.items():
        if torch.allclose(values.to(dtype).float(), values, rtol=tolerance):
            return name
