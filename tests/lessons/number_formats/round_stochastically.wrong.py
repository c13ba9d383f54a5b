# Wrong answers to round_stochastically.
# Not here: hard_coded, because no answer can hold the 880 values of a case.
# Not here: copied_from_lesson, because every demonstration rounds to the nearest number, as plain_baseline does.

# %% answer="plain_baseline" code="rounded_to_nearest"
# Source: a cast
def round_stochastically(values: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    return values.bfloat16()


# %% edit="truncated" code="truncated"
# Source: the upper half of the bits
# -     rounded = steps.floor() + (noise < steps.frac())
# +     rounded = steps.floor()


# %% answer="bits_with_noise_added" code="noise_reversed"
# Source: a usual implementation: random bits added below, which carry where they are large
def round_stochastically(values: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    bits = values.view(torch.int32) + (noise * 65536).int()
    return (bits & -65536).view(torch.float32).bfloat16()


# %% edit="noise_compared_the_other_way" code="noise_reversed"
# Source: a comparison turned round
# -     rounded = steps.floor() + (noise < steps.frac())
# +     rounded = steps.floor() + (noise > steps.frac()) * (steps.frac() > 0)


# %% edit="coin" code="coin_tossed"
# Source: half of the values up, half of them down
# -     rounded = steps.floor() + (noise < steps.frac())
# +     rounded = torch.where(noise < 0.5, steps.ceil(), steps.floor())


# %% edit="floor_of_negatives" code="share_by_sign"
# Source: floor of the signed value
# -     steps = torch.ldexp(values.abs().double(), 7 - exponent)  # in spacings of bf16
# +     steps = torch.ldexp(values.double(), 7 - exponent)
# -     rounded = steps.floor() + (noise < steps.frac())
# +     rounded = steps.floor() + (noise < steps - steps.floor())
# -     return (values.sign() * torch.ldexp(rounded, exponent - 7)).bfloat16()
# +     return torch.ldexp(rounded, exponent - 7).bfloat16()


# %% answer="distance_for_share" code="share_not_divided"
# Source: the distance to the truncated value, not divided by the spacing
def round_stochastically(values: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    kept = (values.view(torch.int32) & -65536).view(torch.float32)
    upper = ((values.view(torch.int32) & -65536) + 65536).view(torch.float32)
    return torch.where(noise < (values - kept).abs(), upper, kept).bfloat16()


# %% edit="fp32_returned" code="wrong_dtype"
# Source: the cast is lost
# -     return (values.sign() * torch.ldexp(rounded, exponent - 7)).bfloat16()
# +     return (values.sign() * torch.ldexp(rounded, exponent - 7)).float()


# %% edit="one_random_number" code="other_neighbour"
# Source: one random number for the whole tensor
# -     rounded = steps.floor() + (noise < steps.frac())
# +     rounded = steps.floor() + (noise.flatten()[0] < steps.frac())


# %% edit="bits_of_fp16" code="no_neighbour"
# Source: the 8 significant bits of bf16 taken for 8 mantissa bits
# -     steps = torch.ldexp(values.abs().double(), 7 - exponent)  # in spacings of bf16
# -     rounded = steps.floor() + (noise < steps.frac())
# -     return (values.sign() * torch.ldexp(rounded, exponent - 7)).bfloat16()
# +     steps = torch.ldexp(values.abs().double(), 6 - exponent)
# +     rounded = steps.floor() + (noise < steps.frac())
# +     return (values.sign() * torch.ldexp(rounded, exponent - 6)).bfloat16()
