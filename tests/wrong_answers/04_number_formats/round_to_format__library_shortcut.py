# Source: Tensor.to(dtype), which torch has for some formats
# Torch rounds to the format of its own that is nearest.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    dtype = torch.bfloat16 if exponent_bits > 6 else torch.float16
    return torch.tensor(value, dtype=torch.float64).to(dtype).item()
