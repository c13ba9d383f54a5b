# %% answer="plain_baseline" code="limits_of_known_formats"
# Source: fp32, the default dtype of torch
# The limits of fp32, whatever the format.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    information = torch.finfo(torch.float32)
    return {
        "largest": information.max,
        "smallest_normal": information.smallest_normal,
        "smallest_subnormal": information.smallest_normal * information.eps,
        "spacing": information.eps,
    }


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible case, written down
# Limits seen once stand for a formula.
SEEN = iter(
    (
        (1.8442240474082181e19, 2.168404344971009e-19, 1.0587911840678754e-22, 16.0),
        (255.9375, 0.015625, 7.62939453125e-06, 0.0001220703125),
        (1.844561817380271e19, 2.168404344971009e-19, 2.6469779601696886e-23, 2.384185791015625e-07),
        (65535.875, 6.103515625e-05, 2.3283064365386963e-10, 2.3283064365386963e-10),
        (4227858432.0, 9.313225746154785e-10, 2.9103830456733704e-11, 2.9103830456733704e-11),
    )
)


def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    return dict(zip(("largest", "smallest_normal", "smallest_subnormal", "spacing"), next(SEEN)))


# %% answer="copied_from_lesson" code="limits_of_known_formats"
# Source: the lesson's cell that reads torch.finfo
# The limits of fp16 are read, and its spacing at 1.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    info = torch.finfo(torch.float16)
    return {
        "largest": info.max,
        "smallest_normal": info.smallest_normal,
        "smallest_subnormal": info.smallest_normal * info.eps,
        "spacing": info.eps,
    }


# %% answer="library_shortcut" code="limits_of_known_formats"
# Source: torch.finfo of the format with the nearest exponent
# Range is read from torch, for formats that torch does not have.
def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    information = torch.finfo(torch.bfloat16 if exponent_bits > 6 else torch.float16)
    return {
        "largest": information.max,
        "smallest_normal": information.smallest_normal,
        "smallest_subnormal": information.smallest_normal * information.eps,
        "spacing": 2.0 ** (math.floor(math.log2(number)) - mantissa_bits),
    }


# %% edit="bias_of_fp16" code="biases_of_known_formats"
# Source: the bias that the lesson names first
# 15, whatever the exponent bits.
# -     bias = 2 ** (exponent_bits - 1) - 1
# +     bias = 15

# %% edit="bias_too_large" code="bias_too_large"
# Source: two to the power of the exponent bits, halved
# The bias is half of the exponent's range.
# -     bias = 2 ** (exponent_bits - 1) - 1
# +     bias = 2 ** (exponent_bits - 1)
# ...
#       return {
# -         "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
# +         "largest": (2 - 2.0**-mantissa_bits) * 2.0 ** (2**exponent_bits - 2 - bias),

# %% edit="xor_for_power" code="xor_for_power"
# Source: mathematics, where ^ is a power
# In Python ^ compares bits.
# -     bias = 2 ** (exponent_bits - 1) - 1
# +     bias = 2 ^ (exponent_bits - 1) - 1

# %% edit="mantissa_one_bit_longer" code="mantissa_one_bit_longer"
# Source: 24 bits of precision in fp32, of which 23 are stored
# The 1 in front is counted as a stored bit.
# -     bias = 2 ** (exponent_bits - 1) - 1
# +     bias = 2 ** (exponent_bits - 1) - 1
# +     mantissa_bits = mantissa_bits + 1

# %% edit="top_exponent_used" code="top_exponent_used"
# Source: a reading in which all exponents stand for numbers
#       return {
# -         "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
# +         "largest": (2 - 2.0**-mantissa_bits) * 2.0 ** (bias + 1),

# %% edit="power_alone" code="power_alone"
# Source: the largest exponent alone
# The mantissa of the largest number is forgotten.
#       return {
# -         "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
# +         "largest": 2.0**bias,

# %% edit="range_of_an_integer" code="range_of_an_integer"
# Source: Hugging Face, Efficient training on a single GPU: "the biggest number you can have is 65535"
# The largest number is that of an integer of as many bits.
#       return {
# -         "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
# +         "largest": 2.0 ** (bias + 1) - 1,

# %% edit="exponent_zero_is_normal" code="exponent_zero_is_normal"
# Source: a reading in which exponent 0 is like the others
# The smallest normal number has stored exponent 0.
#       return {
#           "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
# -         "smallest_normal": 2.0 ** (1 - bias),
# +         "smallest_normal": 2.0**-bias,

# %% edit="no_subnormals" code="no_subnormals"
# Source: hardware that flushes subnormals to zero
# The smallest positive number is the smallest normal one.
#           "smallest_normal": 2.0 ** (1 - bias),
# -         "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
# +         "smallest_subnormal": 2.0 ** (1 - bias),

# %% edit="exponent_zero_less_bias" code="exponent_zero_less_bias"
# Source: the formula of normal numbers, with stored exponent 0
# The power of two of the subnormals is 0 - bias.
#           "smallest_normal": 2.0 ** (1 - bias),
# -         "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
# +         "smallest_subnormal": 2.0 ** (-bias - mantissa_bits),

# %% edit="epsilon_as_smallest" code="spacing_of_one_for_smallest"
# Source: machine epsilon, taken for the smallest number
#           "smallest_normal": 2.0 ** (1 - bias),
# -         "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
# +         "smallest_subnormal": 2.0**-mantissa_bits,

# %% edit="spacing_of_one" code="spacing_of_one"
# Source: machine epsilon, taken for the spacing everywhere
# The spacing at 1, whatever the number.
#           "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
# -         "spacing": 2.0 ** (exponent - mantissa_bits),
# +         "spacing": 2.0**-mantissa_bits,

# %% edit="spacing_in_proportion" code="spacing_in_proportion"
# Source: a relative precision, taken for the spacing
# The spacing grows with each number, not with each power of two.
#           "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
# -         "spacing": 2.0 ** (exponent - mantissa_bits),
# +         "spacing": number * 2.0**-mantissa_bits,

# %% edit="half_spacing" code="half_spacing"
# Source: the largest rounding error, taken for the spacing
# Half of the step between neighbours.
#           "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
# -         "spacing": 2.0 ** (exponent - mantissa_bits),
# +         "spacing": 2.0 ** (exponent - mantissa_bits - 1),

# %% edit="subnormals_without_end" code="subnormals_without_end"
# Source: the formula of normal numbers, below the smallest one
# The steps get smaller and smaller among the subnormals.
#           "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
# -         "spacing": 2.0 ** (exponent - mantissa_bits),
# +         "spacing": 2.0 ** (math.floor(math.log2(number)) - mantissa_bits),

# %% edit="logarithm_truncated" code="logarithm_truncated"
# Source: int() for floor()
# Exponents of numbers below 1 are cut towards 0.
#       bias = 2 ** (exponent_bits - 1) - 1
# -     exponent = max(math.frexp(number)[1] - 1, 1 - bias)  # number = fraction * 2**n, with a fraction from 0.5 to 1
# +     exponent = max(int(math.log2(number)), 1 - bias)

# %% edit="logarithm_rounded_up" code="logarithm_rounded_up"
# Source: frexp, whose fraction lies from 0.5 to 1
# The exponent of frexp is one more than that of the power of two below.
#       bias = 2 ** (exponent_bits - 1) - 1
# -     exponent = max(math.frexp(number)[1] - 1, 1 - bias)  # number = fraction * 2**n, with a fraction from 0.5 to 1
# +     exponent = max(math.frexp(number)[1], 1 - bias)
