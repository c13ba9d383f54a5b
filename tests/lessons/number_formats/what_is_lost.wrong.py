# %% answer="plain_baseline" code="one_word_for_all"
# Source: a format taken for the real numbers
# Nothing is ever lost.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    return "nothing"


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the words of the visible case, written down
# Words seen once stand for thresholds.
WORDS = {"n": "nothing", "p": "precision", "r": "range"}
SEEN = iter(
    "rnpnppnprnpnppppnrpppppnrpnpprppnppnrpppnrpnppppprnppppppprpppppnrpnpppnprpppnpppppprppppr"
    "prppppppnrpppppnppnppnpppnpppppppnpnnppnrnrpnppprpppppppprpppppppppnpprpprprpppppppnppprpp"
    "pppnrppnppnppppppnppppppppprppnpppprppppnnpnppnpnpppppppprpprprppppnpppppnpppnnpprrpnpprpp"
    "nprpppppnppppnnrppnnppnrpppnpppppnrpppppppnppppprnrprpnpppnpppppnrprpnnrpnnprppppnpppppppn"
    "npppppnpppnppnprpppprrrpppppprppnpnrnppppppppprppnppppppppppppppnppprnnpppnppppppppprpppnp"
    "ppppnppnppppnpppppnppppnppnppnprpppppnnpprnppnpppnpppppnppppnnppprpppppprrppppprnprnpprppp"
    "ppppprpprppppppppnnnpppprppppnpppppppppppprprnprprppnnppppppnnrpnpnrrppprpprpppppppnpppppp"
    "ppppnpppppppppppppprnnnpppppppppppprnpnrpnnppnpnnpnpnppppppnppnprnpppppppppppnpnrrpppppppp"
    "prpprpppppnpnrppnppprrrnpppppppnppnrppppppppnnpnpppppppppprpppprppnppppnnppppnrnnprppppppp"
    "ppnpnppppppnpprrpprppprnpprnpppnrppppppnpppppppprpppppppnprpnnppppppppppnprnprpppppnnppr"
)


def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    return WORDS[next(SEEN)]


# %% answer="copied_from_lesson" code="published_rules"
# Source: the published rules, as the lesson quotes them
# 65535, and underflow as a lack of precision.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    if abs(value) > 65535:
        return "range"
    if abs(value) < 2**-14:
        return "precision"
    return "nothing"


# %% answer="library_shortcut" code="fp16_assumed"
# Source: a cast to fp16, which every library has
# The value is rounded to fp16, whatever the format.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    import numpy as np

    with np.errstate(over="ignore"):
        rounded = float(np.float64(value).astype(np.float16))
    if rounded == value or math.isnan(value):
        return "nothing"
    return "range" if rounded == 0 or math.isinf(rounded) else "precision"


# %% edit="published_maximum" code="published_maximum"
# Source: Hugging Face, Efficient training on a single GPU
# 65535 as the end of every format.
# -     if abs(value) >= half_step_above_largest or abs(value) <= half_of_smallest:
# +     if abs(value) > 65535 or abs(value) <= half_of_smallest:

# %% edit="largest_is_the_limit" code="largest_is_the_limit"
# Source: the sentence "anything above the maximum overflows"
# 65519 is reported as overflow.
# -     half_step_above_largest = (2 - 2.0 ** -(mantissa_bits + 1)) * 2.0**bias
# +     half_step_above_largest = math.nextafter((2 - 2.0**-mantissa_bits) * 2.0**bias, math.inf)

# %% edit="integer_range" code="integer_range"
# Source: the largest integer with as many bits
# -     if abs(value) >= half_step_above_largest or abs(value) <= half_of_smallest:
# +     if abs(value) > 2.0 ** (bias + 1) - 1 or abs(value) <= half_of_smallest:

# %% edit="next_power_is_the_limit" code="next_power_is_the_limit"
# Source: the first power of two out of the range
# 65520 is reported as a loss of precision.
# -     half_step_above_largest = (2 - 2.0 ** -(mantissa_bits + 1)) * 2.0**bias
# +     half_step_above_largest = 2.0 ** (bias + 1)

# %% edit="half_way_at_the_top_kept" code="half_way_at_the_top_kept"
# Source: > for >=
# 65520 itself is reported as finite.
# -     if abs(value) >= half_step_above_largest or abs(value) <= half_of_smallest:
# +     if abs(value) > half_step_above_largest or abs(value) <= half_of_smallest:

# %% edit="half_way_at_the_bottom_kept" code="half_way_at_the_bottom_kept"
# Source: < for <=
# 2**-25 itself is reported as a loss of precision.
# -     if abs(value) >= half_step_above_largest or abs(value) <= half_of_smallest:
# +     if abs(value) >= half_step_above_largest or abs(value) < half_of_smallest:

# %% edit="smallest_is_the_limit" code="smallest_is_the_limit"
# Source: the smallest subnormal number as a threshold
# Values that round up to it are reported as lost.
# -     if abs(value) >= half_step_above_largest or abs(value) <= half_of_smallest:
# +     if abs(value) >= half_step_above_largest or abs(value) < 2 * half_of_smallest:

# %% edit="subnormals_are_range" code="subnormals_called_range"
# Source: the smallest normal number as a threshold
# Subnormal numbers are reported as lost.
# -     if abs(value) >= half_step_above_largest or abs(value) <= half_of_smallest:
# +     if abs(value) >= half_step_above_largest or abs(value) < 2.0 ** (1 - bias):

# %% edit="subnormals_with_all_digits" code="subnormals_given_all_digits"
# Source: the mantissa, without a look at the range
# -     exponent = max(math.frexp(value)[1] - 1, 1 - bias)
# +     exponent = math.frexp(value)[1] - 1

# %% edit="thresholds_of_fp16" code="thresholds_of_fp16"
# Source: the thresholds that the lesson prints
# 65520 and 2**-25 in every format.
# -     if abs(value) >= half_step_above_largest or abs(value) <= half_of_smallest:
# +     if abs(value) >= 65520 or abs(value) <= 2**-25:

# %% edit="underflow_is_precision" code="underflow_called_precision"
# Source: slides on mixed precision
# A value that becomes 0 is reported as a loss of precision.
# -     if abs(value) >= half_step_above_largest or abs(value) <= half_of_smallest:
# +     if abs(value) <= half_of_smallest:
# +         return "precision"
# +     if abs(value) >= half_step_above_largest:

# %% edit="no_absolute_value" code="negative_values_called_range"
# Source: thresholds for positive values
# Every negative value is reported as lost.
# -     if abs(value) >= half_step_above_largest or abs(value) <= half_of_smallest:
# +     if value >= half_step_above_largest or value <= half_of_smallest:

# %% edit="precision_everywhere" code="precision_everywhere"
# Source: rounding taken for a loss in every case
# Numbers of the format are reported as a loss of precision.
# -     return "nothing" if is_number else "precision"
# +     return "precision"

# %% edit="precision_overlooked" code="precision_overlooked"
# Source: the two ends alone
# Values between two numbers are reported as no loss.
# -     return "nothing" if is_number else "precision"
# +     return "nothing"

# %% edit="whole_numbers_alone" code="whole_numbers_alone"
# Source: is_integer() without a division
# Fractions are reported as a loss of precision.
# -     is_number = math.ldexp(value, mantissa_bits - exponent).is_integer()
# +     is_number = value.is_integer()

# %% edit="spacing_of_one" code="spacing_of_one"
# Source: eps as the spacing everywhere
# Values are counted in steps of eps.
# -     is_number = math.ldexp(value, mantissa_bits - exponent).is_integer()
# +     is_number = (value / 2.0**-mantissa_bits).is_integer()

# %% edit="nan_is_precision" code="nan_called_a_loss"
# Source: NaN, which differs from itself
# -     if value == 0 or not math.isfinite(value):
# +     if math.isnan(value):
# +         return "precision"
# +     if value == 0 or not math.isfinite(value):

# %% edit="infinity_is_range" code="infinity_called_range"
# Source: infinity as a value out of the range
# Infinity is reported as lost.
# -     if value == 0 or not math.isfinite(value):
# +     if math.isinf(value):
# +         return "range"
# +     if value == 0 or not math.isfinite(value):


# %% answer="close_is_equal" code="relative_tolerance"
# Source: math.isclose for ==
# A relative error of 1e-9 is no loss.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    if value == 0 or not math.isfinite(value):
        return "nothing"
    bias = 2 ** (exponent_bits - 1) - 1
    spacing = 2.0 ** (max(math.frexp(value)[1] - 1, 1 - bias) - mantissa_bits)
    rounded = round(value / spacing) * spacing
    if rounded == 0 or abs(rounded) >= 2.0 ** (bias + 1):
        return "range"
    return "nothing" if math.isclose(rounded, value) else "precision"


# %% answer="words_exchanged" code="words_exchanged"
# Source: two words
# Range and precision are exchanged.
def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    if value == 0 or not math.isfinite(value):
        return "nothing"
    bias = 2 ** (exponent_bits - 1) - 1
    spacing = 2.0 ** (max(math.frexp(value)[1] - 1, 1 - bias) - mantissa_bits)
    rounded = round(value / spacing) * spacing
    if rounded == 0 or abs(rounded) >= 2.0 ** (bias + 1):
        return "precision"
    return "nothing" if rounded == value else "range"
