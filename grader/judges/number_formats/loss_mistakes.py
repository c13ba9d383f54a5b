"""What learners get wrong about range and precision, as thresholds that differ from the right ones."""

from __future__ import annotations

from collections.abc import Mapping

from grader.verdict import UNRECOGNISED

ALL_SAME = "one_word_for_all"

_TOP = "at the top: which values still round to the largest number?"
_BOTTOM = "at the bottom: which values still round to the smallest subnormal number?"
_WORDS = "range: the value is beyond the reach of the format. Precision: its digits are finer than the steps"

LOOK_AT: Mapping[str, str] = {
    "published_rules": f"both published rules are in it. {_TOP} And is a value that becomes 0 lost to precision?",
    "published_maximum": f"65,535 is the largest integer of 16 bits. {_TOP}",
    "largest_of_fp16": f"65504 is the largest number of one format. {_TOP}",
    "largest_is_the_limit": f"{_TOP} 65519 is above 65504, and becomes 65504 in fp16",
    "integer_range": f"an integer has steps of 1 everywhere. {_TOP}",
    "next_power_is_the_limit": f"{_TOP} 65520 is below 65536, and becomes infinite in fp16",
    "half_way_at_the_top_kept": f"{_TOP} Half-way goes to the even mantissa: which one is even?",
    "overflow_overlooked": f"a finite value that becomes infinite. {_WORDS}",
    "overflow_called_precision": f"a finite value that becomes infinite. {_WORDS}",
    "underflow_called_precision": f"a value that becomes 0. {_WORDS}. More mantissa bits alone: would they help?",
    "underflow_overlooked": f"a value that becomes 0: {_WORDS}",
    "smallest_is_the_limit": f"{_BOTTOM} A value below that number may still round up to it",
    "subnormals_called_range": "subnormal numbers are numbers of the format: what do they become?",
    "smallest_of_fp16": f"2**-14 is the smallest normal number of one format. {_BOTTOM}",
    "epsilon_is_the_limit": "eps is the spacing at 1, and no limit of the range: how far down does the format reach?",
    "half_way_at_the_bottom_kept": f"{_BOTTOM} Half-way goes to the even mantissa: which one is even?",
    "precision_overlooked": "a value between two numbers of the format: what does it become?",
    "precision_everywhere": "a value that is a number of the format: what does it become?",
    "subnormals_given_all_digits": "below the smallest normal number the steps are equal: which values lie on them?",
    "infinity_called_range": "infinity was infinite before: did it lose anything?",
    "zero_called_range": "0 is a number of every format: did it lose anything?",
    "special_values_overlooked": "0 and infinity come back as they were: did they lose anything?",
    "fp16_assumed": "these words are right for fp16: what do the counts of bits change?",
    "visible_case_hard_coded": "words that are right for other values: what do they depend on?",
    ALL_SAME: _WORDS,
    "wrong_at_the_top": _TOP,
    "wrong_at_the_bottom": _BOTTOM,
    "wrong_inside": "a value within the range: is it a whole number of steps?",
    "wrong_special": "infinity, NaN: what do they become?",
    UNRECOGNISED: f"one value by hand: what does it become? {_WORDS}",
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

RULES: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("published_rules", {**_PUBLISHED, "special": "no_exception"}),
    ("published_rules", _PUBLISHED),
    ("published_rules", {**_PUBLISHED, "top": "integer", "bottom": "normal"}),
    ("published_maximum", {"top": "published"}),
    ("largest_of_fp16", {"top": "of_fp16"}),
    ("largest_is_the_limit", {"top": "largest"}),
    ("integer_range", {"top": "integer"}),
    ("next_power_is_the_limit", {"top": "power"}),
    ("half_way_at_the_top_kept", {"top": "half_way_kept"}),
    ("overflow_overlooked", {"top": "never"}),
    ("overflow_called_precision", {"top_word": "precision"}),
    ("underflow_called_precision", {"bottom_word": "precision"}),
    ("underflow_overlooked", {"bottom_word": "nothing"}),
    ("smallest_is_the_limit", {"bottom": "smallest"}),
    ("subnormals_called_range", {"bottom": "normal"}),
    ("smallest_of_fp16", {"bottom": "of_fp16"}),
    ("epsilon_is_the_limit", {"bottom": "epsilon"}),
    ("half_way_at_the_bottom_kept", {"bottom": "half_way_kept"}),
    ("precision_overlooked", {"inside": "nothing"}),
    ("precision_everywhere", {"inside": "precision"}),
    ("subnormals_given_all_digits", {"inside": "relative"}),
    ("infinity_called_range", {"special": "infinity"}),
    ("zero_called_range", {"special": "zero"}),
    ("special_values_overlooked", {"special": "no_exception"}),
)
