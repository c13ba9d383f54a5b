# Source: operations of torch, in float64
# torch.round takes half-way to even as well.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    exact = torch.tensor(value, dtype=torch.float64)
    if not exact.isfinite() or exact == 0:
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    lowest = torch.tensor(1 - bias)
    spacing = torch.ldexp(torch.ones_like(exact), torch.maximum(exact.frexp().exponent - 1, lowest) - mantissa_bits)
    rounded = (exact / spacing).round() * spacing
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    return torch.where(rounded.abs() > largest, exact.sign() * torch.inf, rounded).item()
