"""What learners get wrong about range and precision, as thresholds that differ from the right ones."""

from __future__ import annotations

from collections.abc import Mapping

from grader.judging.lessons.number_formats.wording import join_sentences
from grader.verdict import UNRECOGNISED

ALL_SAME = "one_word_for_all"

_TOP = "at the top: which values still round to the largest number?"
_BOTTOM = "at the bottom: which values still round to the smallest subnormal number?"
_WORDS = "range: the value is beyond the reach of the format. Precision: its digits are finer than the steps"
_MORE = "more mantissa bits alone: would they help?"
_EVEN = "half-way goes to the even mantissa: which one is even?"
_EQUAL = "compare the value with what it becomes, both as floats of Python, with =="

LOOK_AT: Mapping[str, str] = {
    "published_rules": join_sentences(
        "both published rules are in it", _TOP, "And is a value that becomes 0 lost to precision?"
    ),
    "published_maximum": join_sentences("65,535 is the largest integer of 16 bits", _TOP),
    "largest_of_fp16": join_sentences("65504 is the largest number of one format", _TOP),
    "thresholds_of_fp16": "the thresholds of fp16: how do they follow from the counts of bits?",
    "largest_is_the_limit": join_sentences(_TOP, "65519 is above 65504, and becomes 65504 in fp16"),
    "integer_range": join_sentences("an integer has steps of 1 everywhere", _TOP),
    "next_power_is_the_limit": join_sentences(_TOP, "65520 is below 65536, and becomes infinite in fp16"),
    "half_way_at_the_top_kept": join_sentences(_TOP, _EVEN),
    "half_upward": join_sentences("floor(x + 0.5) rounds every half towards plus infinity", _EVEN),
    "overflow_overlooked": join_sentences("a finite value that becomes infinite", _WORDS),
    "overflow_called_nothing": join_sentences("a finite value that becomes infinite: it was finite before", _WORDS),
    "overflow_called_precision": join_sentences("a finite value that becomes infinite", _WORDS, _MORE),
    "underflow_called_precision": join_sentences("a value that becomes 0", _WORDS, _MORE),
    "underflow_overlooked": join_sentences("a value that becomes 0", _WORDS),
    "words_exchanged": join_sentences("both words are used, one in the place of the other", _WORDS),
    "negative_values_called_range": "a negative value: is it compared with a threshold by its absolute value?",
    "smallest_is_the_limit": join_sentences(_BOTTOM, "A value below that number may still round up to it"),
    "subnormals_called_range": "subnormal numbers are numbers of the format: what do they become?",
    "subnormals_called_precision": "many subnormal values are numbers of the format, and come back as they were",
    "smallest_of_fp16": join_sentences("2**-14 is the smallest normal number of one format", _BOTTOM),
    "epsilon_is_the_limit": "eps is the spacing at 1, and no limit of the range: how far down does the format reach?",
    "half_way_at_the_bottom_kept": join_sentences(_BOTTOM, _EVEN),
    "precision_overlooked": "a value between two numbers of the format: what does it become?",
    "precision_everywhere": "a value that is a number of the format: what does it become?",
    "subnormals_given_all_digits": "below the smallest normal number the steps are equal: which values lie on them?",
    "absolute_tolerance": join_sentences("an error below 1e-3 may be large for a small value", _EQUAL),
    "relative_tolerance": join_sentences("a small relative error is a loss too: math.isclose allows 1e-9", _EQUAL),
    "bound_for_error": join_sentences("eps / 2 is the largest relative error, and smaller ones are losses too", _EQUAL),
    "compared_in_fp32": join_sentences("a tensor of fp32 cuts both values before they are compared", _EQUAL),
    "whole_numbers_alone": "0.5 is a number of most formats: divide by the spacing before you ask for a whole number",
    "spacing_of_one": "a whole number of steps of eps: is eps the spacing at every value?",
    "infinity_called_range": "infinity was infinite before: did it lose anything?",
    "nan_called_a_loss": "NaN differs from every number, itself included: what does == say of it?",
    "zero_called_range": "0 is a number of every format: did it lose anything?",
    "special_values_overlooked": "0, infinity and NaN come back as they were: did they lose anything?",
    "fp16_assumed": "these words are right for fp16: what do the counts of bits change?",
    "visible_case_hard_coded": "words that are right for other values: what do they depend on?",
    ALL_SAME: _WORDS,
    "wrong_at_the_top": _TOP,
    "wrong_at_the_bottom": _BOTTOM,
    "wrong_inside": "a value within the range: is it a whole number of steps?",
    "wrong_special": "infinity, NaN: what do they become?",
    UNRECOGNISED: join_sentences("one value by hand: what does it become?", _WORDS),
}

PLACES: Mapping[str, str] = {
    "wrong_top": "wrong_at_the_top",
    "wrong_subnormals": "wrong_at_the_bottom",
    "wrong_half_way": "wrong_inside",
    "wrong_normal": "wrong_inside",
    "wrong_twice": "wrong_inside",
    "wrong_special": "wrong_special",
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
