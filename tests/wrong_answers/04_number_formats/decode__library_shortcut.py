# Source: Tensor.view of the dtype
# Torch decodes the formats that it has.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    if exponent_bits + mantissa_bits == 15:
        dtype = torch.float16 if exponent_bits == 5 else torch.bfloat16
        return torch.tensor(bits).to(torch.int16).view(dtype).item()
    dtype = torch.float8_e5m2 if has_infinity else torch.float8_e4m3fn
    return torch.tensor(bits).to(torch.uint8).view(dtype).item()
