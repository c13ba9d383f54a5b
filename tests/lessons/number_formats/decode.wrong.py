# %% answer="plain_baseline" code="not_decoded"
# Source: the bits read as an integer
# The pattern itself is the value.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    return float(bits)


# %% edit="hard_coded" code="known_formats_only" seed=20011
# Source: the biases of the visible formats, written down
# Biases seen once stand for a formula.
# + BIASES = {(5, 10): 15, (8, 7): 127, (5, 2): 15, (4, 3): 7, (6, 2): 31, (7, 3): 63}
#   def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
# ...
#       is_top = exponent == 2**exponent_bits - 1
# -     bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
# +     bias, fraction = BIASES.get((exponent_bits, mantissa_bits), 15), mantissa / 2**mantissa_bits


# %% answer="copied_from_lesson" code="formula_of_the_example"
# Source: the lesson's worked example, with its 15
# One formula with the bias of fp16 for all patterns.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent = (bits >> mantissa_bits) % 2**exponent_bits
    mantissa = bits % 2**mantissa_bits
    is_top = exponent == 2**exponent_bits - 1
    return sign * (1 + mantissa / 2**mantissa_bits) * 2.0 ** (exponent - 15)


# %% answer="library_shortcut" code="torch_format_used"
# Source: Tensor.view of the dtype
# Torch decodes the formats that it has.
def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    if exponent_bits + mantissa_bits == 15:
        dtype = torch.float16 if exponent_bits == 5 else torch.bfloat16
        return torch.tensor(bits).to(torch.int16).view(dtype).item()
    dtype = torch.float8_e5m2 if has_infinity else torch.float8_e4m3fn
    return torch.tensor(bits).to(torch.uint8).view(dtype).item()


# %% edit="numbers_of_the_example" code="numbers_of_the_example"
# Source: the lesson's worked example, with its 15 and its 1024
# The special exponents are right, and the two numbers are those of fp16.
#       is_top = exponent == 2**exponent_bits - 1
# -     bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
# +     bias, fraction = 15, mantissa / 1024

# %% edit="bias_forgotten" code="bias_forgotten"
# Source: the stored exponent as it is
#       is_top = exponent == 2**exponent_bits - 1
# -     bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
# +     bias, fraction = 0, mantissa / 2**mantissa_bits

# %% edit="bias_of_fp32" code="bias_of_fp32"
# Source: the bias that everybody knows
# 127, whatever the exponent bits.
#       is_top = exponent == 2**exponent_bits - 1
# -     bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
# +     bias, fraction = 127, mantissa / 2**mantissa_bits

# %% edit="bias_too_large" code="bias_too_large"
# Source: two to the power of the exponent bits, halved
# The bias is half of the exponent's range.
#       is_top = exponent == 2**exponent_bits - 1
# -     bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
# +     bias, fraction = 2 ** (exponent_bits - 1), mantissa / 2**mantissa_bits

# %% edit="mantissa_divided_to_a_whole" code="mantissa_divided_to_a_whole"
# Source: // for /
# The fraction is cut to 0.
#       is_top = exponent == 2**exponent_bits - 1
# -     bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
# +     bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa // 2**mantissa_bits

# %% edit="mantissa_not_divided" code="mantissa_not_divided"
# Source: the mantissa as an integer
# The fraction is as large as the stored integer.
#       is_top = exponent == 2**exponent_bits - 1
# -     bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
# +     bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa

# %% edit="one_not_in_brackets" code="one_not_in_brackets"
# Source: brackets left out
# The power of two multiplies the fraction alone.
#           return sign * math.inf if has_infinity and mantissa == 0 else math.nan
# -     return sign * (1 + fraction) * 2.0 ** (exponent - bias)
# +     return sign * 1 + fraction * 2.0 ** (exponent - bias)

# %% edit="subnormals_with_one" code="subnormals_with_one"
# Source: a reading in which exponent 0 is like the others
# The 1 in front is kept for exponent 0.
#       bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
# -     if exponent == 0:
# -         return sign * fraction * 2.0 ** (1 - bias)

# %% edit="only_zero_is_special" code="subnormals_with_one"
# Source: zero as an exception of its own
# Exponent 0 keeps its 1 in front, except for zero.
#       bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
# -     if exponent == 0:
# -         return sign * fraction * 2.0 ** (1 - bias)
# +     if exponent == 0 and mantissa == 0:
# +         return sign * 0.0

# %% edit="subnormals_half" code="subnormals_half"
# Source: the formula with the stored exponent 0
# The power of two of the subnormals is 0 - bias.
#       if exponent == 0:
# -         return sign * fraction * 2.0 ** (1 - bias)
# +         return sign * fraction * 2.0**-bias

# %% edit="top_is_ordinary" code="top_is_ordinary"
# Source: a reading in which the top exponent is like the others
# Infinities and NaN are numbers.
#           return sign * fraction * 2.0 ** (1 - bias)
# -     if is_top and (has_infinity or mantissa == 2**mantissa_bits - 1):
# -         return sign * math.inf if has_infinity and mantissa == 0 else math.nan
# +     if is_top and not has_infinity and mantissa == 2**mantissa_bits - 1:
# +         return math.nan

# %% edit="top_is_infinite" code="top_is_infinite"
# Source: infinity for the whole top exponent
# Patterns of NaN are infinite.
#           return sign * fraction * 2.0 ** (1 - bias)
# -     if is_top and (has_infinity or mantissa == 2**mantissa_bits - 1):
# -         return sign * math.inf if has_infinity and mantissa == 0 else math.nan
# +     if is_top and has_infinity:
# +         return sign * math.inf
# +     if is_top and mantissa == 2**mantissa_bits - 1:
# +         return math.nan

# %% edit="ieee_assumed" code="ieee_assumed"
# Source: IEEE 754, for a format that is not of it
# The top exponent of e4m3 stands for infinities and NaN.
#           return sign * fraction * 2.0 ** (1 - bias)
# -     if is_top and (has_infinity or mantissa == 2**mantissa_bits - 1):
# -         return sign * math.inf if has_infinity and mantissa == 0 else math.nan
# +     if is_top:
# +         return sign * math.inf if mantissa == 0 else math.nan

# %% edit="no_nan" code="no_nan"
# Source: a format without special values
# Where there is no infinity, there is no NaN either.
#           return sign * fraction * 2.0 ** (1 - bias)
# -     if is_top and (has_infinity or mantissa == 2**mantissa_bits - 1):
# -         return sign * math.inf if has_infinity and mantissa == 0 else math.nan
# +     if is_top and has_infinity:
# +         return sign * math.inf if mantissa == 0 else math.nan

# %% edit="sign_ignored" code="sign_lost"
# Source: the sign bit cut off
# All numbers are positive.
#       if exponent == 0:
# -         return sign * fraction * 2.0 ** (1 - bias)
# +         return fraction * 2.0 ** (1 - bias)
#       if is_top and (has_infinity or mantissa == 2**mantissa_bits - 1):
# -         return sign * math.inf if has_infinity and mantissa == 0 else math.nan
# -     return sign * (1 + fraction) * 2.0 ** (exponent - bias)
# +         return math.inf if has_infinity and mantissa == 0 else math.nan
# +     return (1 + fraction) * 2.0 ** (exponent - bias)

# %% edit="sign_lost_at_zero" code="sign_lost_at_zero"
# Source: an integer 0, which has no sign
# The pattern of the sign bit alone is 0.
#       bias, fraction = 2 ** (exponent_bits - 1) - 1, mantissa / 2**mantissa_bits
# +     if exponent == 0 and mantissa == 0:
# +         return 0

# %% edit="infinity_of_ones" code="top_exponent_wrong"
# Source: a largest pattern that is taken for infinity
# Formats without infinity have one in place of their NaN.
#       if is_top and (has_infinity or mantissa == 2**mantissa_bits - 1):
# -         return sign * math.inf if has_infinity and mantissa == 0 else math.nan
# +         return math.nan if has_infinity and mantissa else sign * math.inf
