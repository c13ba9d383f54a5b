# %% answer="by_bits"
# The lower 16 bits of fp32 are the share.
def round_stochastically(values: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    bits = values.contiguous().view(torch.int32)
    lower = bits & 0xFFFF
    upper = bits - lower
    return (upper + 0x10000 * (noise * 0x10000 < lower).int()).view(torch.float32).to(torch.bfloat16)


# %% answer="two_neighbours"
# Truncation gives one neighbour, nextafter the other.
def round_stochastically(values: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    inner = (values.view(torch.int32) & -65536).view(torch.float32).bfloat16()
    outer = torch.nextafter(inner, torch.sign(values).bfloat16() * torch.inf)
    share = (values.double() - inner.double()) / (outer.double() - inner.double())
    is_between = (values != 0) & (noise < share)
    return torch.where(is_between, outer, inner)


# %% answer="noise_subtracted"
# The noise is subtracted in units of the spacing, and what is above it is rounded up.
def round_stochastically(values: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    spacing = 2.0 ** (torch.frexp(values)[1].double() - 8)
    steps = (values.double() / spacing).abs()
    count = torch.ceil(steps - noise.double())
    count = torch.where(steps == steps.floor(), steps, torch.maximum(count, steps.floor()))
    return (torch.copysign(count, values.double()) * spacing).to(torch.bfloat16)
