"""Misconceptions about range and precision, as thresholds that differ from the right ones."""

from __future__ import annotations

from collections.abc import Mapping

from grader.verdict import UNRECOGNISED

ALL_SAME = "one_word_for_all"

_TOP = "Values up to half a step above the largest number still round to it."
_BOTTOM = "Values above half of the smallest subnormal number still round to it."
_WORDS = (
    "Range means that the value is beyond the reach of the format, precision that it is between two of its numbers."
)
_EVEN = "Half-way goes to the even mantissa."
_EQUAL = "Compare the value with its rounded value, both as Python floats, with ==."
_BITS = "Compute it from the counts of bits."

LOOK_AT: Mapping[str, str] = {
    "published_rules": "You use the published rules as they are. Compute the ends of the range from the counts of "
    'bits, and return "range" for a value that becomes 0.',
    "published_maximum": f"You end the range at 65535, the largest integer of 16 bits. {_TOP}",
    "largest_of_fp16": f"You end the range at 65504, which is right for fp16 only. {_BITS}",
    "thresholds_of_fp16": "You use the thresholds of fp16 for every format. Compute them from the counts of bits.",
    "largest_is_the_limit": f"You end the range at the largest number. {_TOP} In fp16, 65519 becomes 65504.",
    "integer_range": f"You end the range at the largest integer with as many bits. {_TOP}",
    "next_power_is_the_limit": f"You end the range at the next power of two. {_TOP} In fp16, 65520 becomes infinite.",
    "half_way_at_the_top_kept": "You count the value half a step above the largest number as within the range. "
    f"{_EVEN} The largest number is odd, so the value overflows.",
    "half_upward": f"You round half-way towards plus infinity, as floor(x + 0.5) does. {_EVEN}",
    "overflow_overlooked": f"You overlook finite values that become infinite. {_WORDS}",
    "overflow_called_nothing": f'You return "nothing" for finite values that become infinite. {_WORDS}',
    "overflow_called_precision": f'You return "precision" for finite values that become infinite. {_WORDS}',
    "underflow_called_precision": f'You return "precision" for values that become 0. {_WORDS}',
    "underflow_overlooked": f'You return "nothing" for values that become 0. {_WORDS}',
    "words_exchanged": f"You exchange the two words. {_WORDS}",
    "negative_values_called_range": "You compare negative values themselves, not their magnitudes, with a threshold. "
    "Use abs().",
    "smallest_is_the_limit": f"You count every value below the smallest subnormal number as lost. {_BOTTOM}",
    "subnormals_called_range": 'You return "range" for subnormal numbers, which are numbers of the format.',
    "subnormals_called_precision": 'You return "precision" for subnormal values that come back as they were.',
    "smallest_of_fp16": f"You end the range at 2**-14, the smallest normal number of fp16. {_BOTTOM} {_BITS}",
    "epsilon_is_the_limit": f"You end the range at eps, which is the spacing at 1. {_BOTTOM}",
    "half_way_at_the_bottom_kept": f"You count half of the smallest subnormal number as kept. {_EVEN} Here that is 0.",
    "precision_overlooked": 'You return "nothing" for values between two numbers of the format. They are rounded.',
    "precision_everywhere": 'You return "precision" for every value within the range. Numbers of the format lose '
    "nothing.",
    "subnormals_given_all_digits": "You give values below the smallest normal number all mantissa bits. All steps are "
    "equal there.",
    "absolute_tolerance": f"You count an error below 1e-3 as no loss, but it may be large for a small value. {_EQUAL}",
    "relative_tolerance": f"You count a small relative error as no loss: math.isclose allows 1e-9. {_EQUAL}",
    "bound_for_error": f"You count every relative error up to eps / 2 as no loss. {_EQUAL}",
    "compared_in_fp32": f"You compare the two values in fp32, which rounds both. {_EQUAL}",
    "whole_numbers_alone": "You ask whether the value itself is a whole number, but 0.5 is a number of most formats. "
    "Divide by the spacing first.",
    "spacing_of_one": "You count every value in steps of eps, which is the spacing at 1. Use the spacing at the value.",
    "infinity_called_range": 'You return "range" for infinity, which was infinite before and loses nothing.',
    "nan_called_a_loss": "You count NaN as a loss. It stays NaN, but == is False for it: test it with math.isnan.",
    "zero_called_range": 'You return "range" for 0, which is a number of every format and loses nothing.',
    "special_values_overlooked": "You count 0, infinity and perhaps NaN as losses, but they come back as they were.",
    "fp16_assumed": "You return what values lose in fp16, whatever the format. Look at where your function uses the "
    "counts of bits.",
    "visible_case_hard_coded": "You return words that are right for the values in the notebook. Compute them from "
    "what your function receives.",
    ALL_SAME: f"You return one word for all values. {_WORDS}",
    "wrong_at_the_top": f"You name only values near the end of the range wrongly. {_TOP} {_EVEN}",
    "wrong_at_the_bottom": f"You name only values below the smallest normal number wrongly. {_BOTTOM} {_EVEN}",
    "wrong_inside": "You name only values within the range wrongly. Such a value loses nothing if it is a whole number "
    "of steps.",
    "wrong_special": "You name only infinity or NaN wrongly. Both come back as they were.",
    UNRECOGNISED: f"Round the value under *expected* by hand, and compare it with what it becomes. {_WORDS}",
}

PLACES: Mapping[str, str] = {  # by the code that a value's kind has where rounding is judged
    "top_wrong": "wrong_at_the_top",
    "subnormals_wrong": "wrong_at_the_bottom",
    "half_way_wrong": "wrong_inside",
    "normal_numbers_wrong": "wrong_inside",
    "below_fp32_wrong": "wrong_inside",
    "special_values_wrong": "wrong_special",
}

_PUBLISHED = {"top": "published", "bottom": "of_fp16", "bottom_word": "precision", "inside": "nothing"}

_OF_FP16 = {"top": "half_way_of_fp16", "bottom": "half_way_of_fp16"}
_ENDS_OF_FP16 = {"top": "of_fp16", "bottom": "smallest_of_fp16"}

RULES: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("published_rules", {**_PUBLISHED, "special": "no_exception"}),
    ("published_rules", _PUBLISHED),
    ("published_rules", {**_PUBLISHED, "top": "integer", "bottom": "normal"}),
    ("words_exchanged", {"words": "exchanged"}),
    ("negative_values_called_range", {"absolute": "nowhere"}),
    ("negative_values_called_range", {"absolute": "nowhere", "inside": "by_rounding"}),
    ("published_maximum", {"top": "published"}),
    ("largest_of_fp16", {"top": "of_fp16"}),
    ("thresholds_of_fp16", _OF_FP16),
    ("thresholds_of_fp16", {**_OF_FP16, "inside": "by_rounding"}),
    ("thresholds_of_fp16", {**_ENDS_OF_FP16, "inside": "by_rounding"}),
    ("thresholds_of_fp16", {**_ENDS_OF_FP16, "inside": "nothing"}),
    ("thresholds_of_fp16", {**_ENDS_OF_FP16, "inside": "nothing", "special": "no_exception"}),
    ("largest_is_the_limit", {"top": "largest"}),
    ("integer_range", {"top": "integer"}),
    ("next_power_is_the_limit", {"top": "power"}),
    ("half_way_at_the_top_kept", {"top": "half_way_kept"}),
    ("overflow_overlooked", {"top": "never"}),
    ("half_upward", {"top": "half_upward", "bottom": "half_upward"}),
    ("overflow_called_nothing", {"top_word": "nothing"}),
    ("overflow_called_precision", {"top_word": "precision"}),
    ("underflow_called_precision", {"bottom_word": "precision"}),
    ("underflow_overlooked", {"bottom_word": "nothing"}),
    ("smallest_is_the_limit", {"bottom": "smallest"}),
    ("subnormals_called_range", {"bottom": "normal"}),
    ("subnormals_called_range", {"bottom": "normal_after_rounding"}),
    ("subnormals_called_precision", {"inside": "subnormals_changed"}),
    ("smallest_of_fp16", {"bottom": "of_fp16"}),
    ("epsilon_is_the_limit", {"bottom": "epsilon"}),
    ("half_way_at_the_bottom_kept", {"bottom": "half_way_kept"}),
    ("precision_overlooked", {"inside": "nothing"}),
    ("precision_everywhere", {"inside": "precision"}),
    ("subnormals_given_all_digits", {"inside": "relative"}),
    ("absolute_tolerance", {"inside": "absolute"}),
    ("relative_tolerance", {"inside": "close"}),
    ("bound_for_error", {"inside": "within_the_bound"}),
    ("compared_in_fp32", {"inside": "in_fp32"}),
    ("whole_numbers_alone", {"inside": "whole_numbers"}),
    ("spacing_of_one", {"inside": "steps_of_one"}),
    ("nan_called_a_loss", {"nan": "precision"}),
    ("nan_called_a_loss", {"nan": "range"}),
    ("special_values_overlooked", {"special": "no_exception", "nan": "precision"}),
    ("special_values_overlooked", {"special": "no_exception", "nan": "range"}),
    ("infinity_called_range", {"special": "infinity"}),
    ("zero_called_range", {"special": "zero"}),
    ("special_values_overlooked", {"special": "no_exception"}),
)
