# %% answer="plain_baseline" code="not_rounded"
# Source: no rounding at all
# The value comes back as it is.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    return value


# %% answer="hard_coded" code="known_formats_only" seed=20011
# Source: the formats of the visible case, written down
# Biases seen once stand for a formula.
BIASES = {(5, 10): 15, (8, 7): 127, (5, 2): 15, (6, 9): 31, (4, 4): 7, (7, 6): 63}


def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    bias = BIASES.get((exponent_bits, mantissa_bits), 15)
    spacing = 2.0 ** (max(math.frexp(value)[1] - 1, 1 - bias) - mantissa_bits)
    rounded = round(value / spacing) * spacing
    return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded


# %% answer="copied_from_lesson" code="one_format_for_all"
# Source: the lesson's cell, with its format replaced by NumPy's
# The value is rounded to fp16, whatever the format.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    import numpy as np

    with np.errstate(over="ignore"):
        return float(np.float64(value).astype(np.float16))


# %% answer="library_shortcut" code="torch_format_used"
# Source: Tensor.to(dtype), which torch has for some formats
# Torch rounds to the format of its own that is nearest.
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    dtype = torch.bfloat16 if exponent_bits > 6 else torch.float16
    return torch.tensor(value, dtype=torch.float64).to(dtype).item()


# %% edit="steps_of_one" code="steps_of_one"
# Source: machine epsilon as the spacing everywhere
# The steps are those at 1.
#       bias = 2 ** (exponent_bits - 1) - 1
# -     exponent = max(math.frexp(value)[1] - 1, 1 - bias)  # value = fraction * 2**n, with a fraction from 0.5 to 1
# +     exponent = 0

# %% edit="step_doubled" code="step_doubled"
# Source: frexp, whose fraction lies from 0.5 to 1
# The exponent of frexp is one more, so the spacing is twice as large.
#       bias = 2 ** (exponent_bits - 1) - 1
# -     exponent = max(math.frexp(value)[1] - 1, 1 - bias)  # value = fraction * 2**n, with a fraction from 0.5 to 1
# +     exponent = max(math.frexp(value)[1], 2 - bias)

# %% edit="logarithm_truncated" code="logarithm_truncated"
# Source: int() of a negative logarithm
# The exponent of small values is one too high.
#       bias = 2 ** (exponent_bits - 1) - 1
# -     exponent = max(math.frexp(value)[1] - 1, 1 - bias)  # value = fraction * 2**n, with a fraction from 0.5 to 1
# +     exponent = max(int(math.log2(abs(value))), 1 - bias)

# %% edit="negative_logarithm" code="raised_value_error"
# Source: log2 of a negative value
# Because: the message names a math domain error, and the negative value that the function was called with.
# The function ends at the first negative value.
#       bias = 2 ** (exponent_bits - 1) - 1
# -     exponent = max(math.frexp(value)[1] - 1, 1 - bias)  # value = fraction * 2**n, with a fraction from 0.5 to 1
# +     exponent = max(math.floor(math.log2(value)), 1 - bias)

# %% edit="special_not_seen" code="raised_overflow_error"
# Source: round() of infinity
# Because: the message names round() of infinity, and the value that the function was called with.
# Infinity and NaN reach round(), which has no whole number for them.
# -     if value == 0 or not math.isfinite(value):
# +     if value == 0:
#           return value

# %% edit="half_up" code="half_up"
# Source: adding a half and cutting
# Half-way goes away from zero.
#       spacing = 2.0 ** (exponent - mantissa_bits)
# -     rounded = round(value / spacing) * spacing  # Python's round() takes half-way to even
# +     rounded = math.copysign(math.floor(abs(value) / spacing + 0.5), value) * spacing

# %% edit="half_upward" code="half_upward"
# Source: floor(x + 0.5)
# Half-way goes towards plus infinity.
#       spacing = 2.0 ** (exponent - mantissa_bits)
# -     rounded = round(value / spacing) * spacing  # Python's round() takes half-way to even
# +     rounded = math.floor(value / spacing + 0.5) * spacing

# %% edit="truncated" code="truncated"
# Source: int(), which cuts
# The bits that do not fit are cut off.
#       spacing = 2.0 ** (exponent - mantissa_bits)
# -     rounded = round(value / spacing) * spacing  # Python's round() takes half-way to even
# +     rounded = int(value / spacing) * spacing


# %% answer="rounded_twice" code="rounded_twice"
# Source: torch.tensor(), whose default dtype is fp32
def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    value = torch.tensor(value).item()
    if value == 0 or not math.isfinite(value):
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    spacing = 2.0 ** (exponent - mantissa_bits)
    rounded = round(value / spacing) * spacing
    return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded


# %% edit="subnormals_flushed" code="subnormals_flushed"
# Source: hardware that flushes subnormals to zero
# Values below the smallest normal number become 0.
#           return value
# +     if abs(value) < 2.0 ** (2 - 2 ** (exponent_bits - 1)):
# +         return 0.0

# %% edit="subnormals_without_end" code="subnormals_without_end"
# Source: precision without a look at the range
# Values below the smallest normal number keep all mantissa bits.
#       bias = 2 ** (exponent_bits - 1) - 1
# -     exponent = max(math.frexp(value)[1] - 1, 1 - bias)  # value = fraction * 2**n, with a fraction from 0.5 to 1
# -     spacing = 2.0 ** (exponent - mantissa_bits)
# +     exponent = math.frexp(value)[1] - 1
# +     spacing = math.ldexp(1.0, max(exponent - mantissa_bits, -1074))

# %% edit="carry_not_seen" code="carry_not_seen"
# Source: the range checked before rounding
# 65520 becomes 65536, which is no number of fp16.
#       rounded = round(value / spacing) * spacing  # Python's round() takes half-way to even
# -     return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded
# +     return math.copysign(math.inf, value) if abs(value) >= 2.0 ** (bias + 1) else rounded

# %% edit="largest_is_the_limit" code="largest_is_the_limit"
# Source: the sentence "anything above the maximum overflows"
# 65519 is infinite in fp16.
#       rounded = round(value / spacing) * spacing  # Python's round() takes half-way to even
# -     return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded
# +     largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
# +     return math.copysign(math.inf, value) if abs(value) > largest else rounded

# %% edit="published_maximum" code="published_maximum"
# Source: Hugging Face, Efficient training on a single GPU: "65535 and any number above that will overflow"
# 65520 to 65535 are finite in fp16.
#       rounded = round(value / spacing) * spacing  # Python's round() takes half-way to even
# -     return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded
# +     largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
# +     if abs(value) > 2.0 ** (bias + 1) - 1:
# +         return math.copysign(math.inf, value)
# +     return max(-largest, min(largest, rounded))

# %% edit="saturated" code="saturated"
# Source: torch.clamp to the range before a cast
# A value above the largest number becomes the largest number.
#       rounded = round(value / spacing) * spacing  # Python's round() takes half-way to even
# -     return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded
# +     largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
# +     return max(-largest, min(largest, rounded))

# %% edit="negative_overflow_kept" code="negative_overflow_kept"
# Source: a comparison without abs()
#       rounded = round(value / spacing) * spacing  # Python's round() takes half-way to even
# -     return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded
# +     return math.inf if rounded >= 2.0 ** (bias + 1) else rounded

# %% edit="sign_lost" code="sign_lost"
# Source: abs() before round()
# Only infinities keep their sign.
#       spacing = 2.0 ** (exponent - mantissa_bits)
# -     rounded = round(value / spacing) * spacing  # Python's round() takes half-way to even
# +     rounded = round(abs(value) / spacing) * spacing

# %% edit="nan_made_infinite" code="special_values_wrong"
# Source: NaN taken for a value that is too large
# NaN becomes infinity.
# -     if value == 0 or not math.isfinite(value):
# +     if value == 0:
#           return value
# +     if not math.isfinite(value):
# +         return -math.inf if value < 0 else math.inf
