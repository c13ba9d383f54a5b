# %% answer="plain_baseline" code="widest_always"
# Source: the format that is always good enough
# fp32 for all tensors.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    return "fp32"


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible case, written down
# Names seen once stand for a measurement.
SEEN = iter(
    [
        "fp16",
        "bf16",
        "bf16",
        "e4m3",
        "bf16",
        "fp32",
        "e4m3",
        "fp32",
        "e4m3",
        "bf16",
        "bf16",
        "e5m2",
        "fp16",
        "e4m3",
        "e4m3",
    ]
)


def choose_format(values: torch.Tensor, tolerance: float) -> str:
    return next(SEEN)


# %% answer="copied_from_lesson" code="one_format_for_all"
# Source: the lesson's table of usual formats
# bf16 for all tensors.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    smallest, largest = values.abs().min(), values.abs().max()
    return "bf16"


# %% edit="absolute_error" code="absolute_error"
# Source: torch.allclose with atol
# The error is not divided by the value.
#       for name, dtype in FORMATS.items():
# -         errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# -         if errors.max() <= tolerance:
# +         if (kept.to(dtype).float() - kept).abs().max() <= tolerance:

# %% edit="relative_to_the_largest" code="relative_to_the_largest"
# Source: an error relative to the scale of a tensor
# Small values may vanish.
#       for name, dtype in FORMATS.items():
# -         errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# -         if errors.max() <= tolerance:
# +         if (kept.to(dtype).float() - kept).abs().max() <= tolerance * kept.abs().max():


# %% answer="absolute_part" code="absolute_part"
# Source: torch.allclose, whose atol is 1e-8
# Values far below 1e-8 may vanish.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    for name, dtype in FORMATS.items():
        if torch.allclose(values.to(dtype).float(), values, rtol=tolerance):
            return name


# %% edit="mean_error" code="mean_error"
# Source: an average
# One lost value among many does not count.
#       for name, dtype in FORMATS.items():
# -         errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# -         if errors.max() <= tolerance:
# +         if ((kept.to(dtype).float() - kept).abs() / kept.abs()).mean() <= tolerance:

# %% edit="sign_of_the_error" code="sign_of_the_error"
# Source: a difference without its absolute value
# Errors of values that are rounded down count as negative.
#       for name, dtype in FORMATS.items():
# -         errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# -         if errors.max() <= tolerance:
# +         if ((kept.to(dtype).float() - kept) / kept.abs()).max() <= tolerance:

# %% edit="tolerance_itself_refused" code="tolerance_itself_refused"
# Source: < for <=
# An error of the size of the tolerance is refused.
#           errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# -         if errors.max() <= tolerance:
# +         if errors.max() < tolerance:
#               return name
# +     return "fp32"


# %% answer="zeros_not_left_out" code="zeros_not_left_out"
# Source: a division by every value
# 0 / 0 is NaN, and nothing is within the tolerance.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values
    for name, dtype in FORMATS.items():
        if ((kept.to(dtype).float() - kept).abs() / kept.abs()).max() <= tolerance:
            return name


# %% edit="infinite_values_left_out" code="infinite_values_left_out"
# Source: isfinite() to be safe
# Values that became infinite do not count.
#           errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# -         if errors.max() <= tolerance:
# +         if errors[errors.isfinite()].max() <= tolerance:

# %% edit="clamped_first" code="clamped_first"
# Source: a cast that saturates
# Values beyond the range are cut to its end.
#       for name, dtype in FORMATS.items():
# -         errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# +         info = torch.finfo(dtype)
# +         errors = (kept.clamp(info.min, info.max).to(dtype).float() - kept).abs() / kept.abs()

# %% edit="first_value_alone" code="one_value_alone"
# Source: one value for all
#           errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# -         if errors.max() <= tolerance:
# +         if errors[0] <= tolerance:

# %% edit="range_alone" code="range_alone"
# Source: a look at the range
# Precision is not asked for.
#       for name, dtype in FORMATS.items():
# -         errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# -         if errors.max() <= tolerance:
# +         if kept.abs().max() <= torch.finfo(dtype).max and kept.abs().min() >= torch.finfo(dtype).smallest_normal:

# %% edit="precision_alone" code="precision_alone"
# Source: eps, and no look at the values
# The range is not asked for.
#       for name, dtype in FORMATS.items():
# -         errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# -         if errors.max() <= tolerance:
# +         if torch.finfo(dtype).eps / 2 <= tolerance:

# %% edit="bound_in_place_of_error" code="bound_in_place_of_error"
# Source: the bound of half an eps
# Values that a format holds exactly are refused.
#       for name, dtype in FORMATS.items():
# -         errors = (kept.to(dtype).float() - kept).abs() / kept.abs()
# -         if errors.max() <= tolerance:
# +         if (
# +             torch.finfo(dtype).eps / 2 <= tolerance
# +             and kept.abs().max() <= torch.finfo(dtype).max
# +             and kept.abs().min() >= torch.finfo(dtype).smallest_normal
# +         ):


# %% answer="most_exact_format" code="most_exact_format"
# Source: the best format for the cheapest
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    kept = values[values != 0]
    errors = {name: (kept.to(dtype).float() - kept).div(kept).abs().max().item() for name, dtype in FORMATS.items()}
    return min(errors, key=errors.get)


# %% edit="order_changed" code="order_changed"
# Source: range before digits, in both sizes
# Of equal bytes the one with more exponent bits comes first.
#       kept = values[values != 0]
# -     for name, dtype in FORMATS.items():
# +     for name in ("e5m2", "e4m3", "bf16", "fp16", "fp32"):
# +         dtype = FORMATS[name]
