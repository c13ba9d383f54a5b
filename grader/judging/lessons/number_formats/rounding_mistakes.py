"""What learners get wrong when they round to a format, as rules that differ from the right ones."""

from __future__ import annotations

from collections.abc import Mapping

from grader.judging.lessons.number_formats.wording import join_sentences
from grader.verdict import UNRECOGNISED

_TIES = "half-way: of the two neighbours, the one whose mantissa is even"
_TOP = "round first, as if the exponent had no end; what is then above the largest number becomes infinite"
_BELOW = "below the smallest normal number all steps are equal: which one is it?"
_STEP = "the step at a value: 2**(exponent - mantissa_bits)"
_BIAS = "the bias: half of the exponent's range, less one"
_SUBNORMALS = "they are numbers of the format, not zeros"
_FREXP = "the exponent that of frexp, whose fraction is below 1?"

LOOK_AT: Mapping[str, str] = {
    "bias_too_large": join_sentences(_BIAS, "Both ends are off", _TOP),
    "bias_too_small": join_sentences(_BIAS, "Both ends are off", _TOP),
    "bias_of_fp16": join_sentences("15 is the bias of five exponent bits", _BIAS),
    "bias_of_fp32": join_sentences("127 is the bias of eight exponent bits", _BIAS),
    "half_up": join_sentences(_TIES, "Adding a half and cutting rounds every half up"),
    "half_upward": join_sentences(_TIES, "With floor(x + 0.5) every half goes towards plus infinity"),
    "half_toward_zero": join_sentences(_TIES, "Yours is always the smaller one"),
    "half_downward": join_sentences(_TIES, "Yours is always the lower one"),
    "half_to_odd": join_sentences(_TIES, "Which one is even?"),
    "half_added_and_cut": join_sentences("int(x + 0.5): what does it make of -1.3, and of half-way?", _TIES),
    "truncated": "the nearest neighbour: int() and // cut off what is behind the last bit",
    "floored": "the nearest neighbour: floor() takes the lower one, for negative values too",
    "rounded_outward": "the nearest neighbour: yours is always the larger one",
    "ceiled": "the nearest neighbour: ceil() takes the upper one",
    "subnormals_flushed": join_sentences(_BELOW, _SUBNORMALS),
    "subnormals_flushed_after_rounding": join_sentences(_BELOW, _SUBNORMALS),
    "subnormals_without_end": join_sentences(_BELOW, "Yours get smaller and smaller"),
    "lowest_exponent_too_low": join_sentences(_BELOW, "The lowest exponent is 1 - bias"),
    "lowest_exponent_too_high": join_sentences(_BELOW, "The lowest exponent is 1 - bias, and yours is above it"),
    "smallest_is_the_limit": "a value below the smallest subnormal number may still round up to it",
    "half_of_smallest_rounded_up": join_sentences("half of the smallest subnormal number lies between it and 0", _TIES),
    "one_bit_too_few": join_sentences(
        _STEP, "Yours is twice that. Is the 1 in front counted as a mantissa bit?", f"Or is {_FREXP}"
    ),
    "one_bit_too_many": join_sentences(
        _STEP, "Yours is half of it: is it the largest rounding error, or of one bit more?"
    ),
    "never_infinite": join_sentences("no limit at the top", _TOP),
    "saturated": join_sentences("a value above the largest number: it is not cut to that number", _TOP),
    "largest_is_the_limit": join_sentences("a value just above the largest number may still round to it", _TOP),
    "largest_is_infinite": join_sentences("the largest number itself: is it infinite?", _TOP),
    "half_way_above_largest_kept": join_sentences("half-way above the largest number: its mantissa is odd", _TOP),
    "carry_not_seen": join_sentences("rounding up may lead out of the format", _TOP),
    "integer_range": "an integer of 16 bits ends at 65,535: what is the largest number of this format?",
    "published_maximum": "65535 is not the largest number of fp16: how does that number follow from the bits?",
    "limit_of_fp16": "65504 and 65520 are limits of fp16: how do they follow from the counts of bits?",
    "negative_overflow_kept": "a negative value beyond the range: does your comparison see it?",
    "power_kept": join_sentences("2**(bias + 1) has the top exponent, which stands for no number", _TOP),
    "top_exponent_used": "the top exponent stands for infinities and NaN: what is the largest number?",
    "rounded_twice": "two roundings, first to fp32 and then to the format: the first one may make a half-way of it",
    "fp16_before_the_format": "two roundings, first to fp16: what is left of a value that fp16 cannot hold?",
    "steps_of_one": join_sentences("floating point: the steps grow with the value", _STEP),
    "steps_in_proportion": join_sentences("a step that grows with the value itself divides it without a rest", _STEP),
    "decimal_digits": "the second argument of round() counts decimal digits, and mantissa bits are binary ones",
    "steps_not_undone": "the result is a count of steps: what is it multiplied by?",
    "exponent_too_high": join_sentences(
        _STEP, "The exponent is that of the power of two at or below the value", f"Is {_FREXP}"
    ),
    "exponent_too_low": join_sentences(_STEP, "Yours is half of it for every normal number: what is taken off twice?"),
    "logarithm_cut": join_sentences(_STEP, "Below 1 the exponent is negative, and int() cuts it towards 0"),
    "negative_values_kept": "a negative value: it comes back as it was. Which comparison lets it through?",
    "sign_lost": "a negative value: which sign has its result?",
    "sign_lost_but_at_infinity": "a negative value within the range: which sign has its result?",
    "sign_lost_at_infinity": "a negative value beyond the range: which infinity?",
    "nan_made_infinite": "NaN: every comparison with it is False. Which branch does it take?",
    "not_rounded": "the result is the value itself: is it a number of the format?",
    "lesson_values_alone": "the values of the lesson are right, and all others come back as they were",
    "fp16_for_all": "the counts of bits: these are numbers of fp16, whatever the format",
    "bf16_for_all": "the counts of bits: these are numbers of bf16, whatever the format",
    "known_formats_only": "formats that you have seen are right: what does your function do with other counts of bits?",
    "wrong_half_way": _TIES,
    "wrong_subnormals": _BELOW,
    "wrong_top": _TOP,
    "wrong_special": "infinity stays infinite, NaN stays NaN: neither has an exponent to work with",
    "wrong_twice": "a value that fp32 cannot hold: in which precision does your function compute?",
    "wrong_normal": join_sentences(_STEP, "The result is the nearest multiple of it"),
    UNRECOGNISED: f"one value by hand: {_STEP}, the nearest multiple, and then the two ends of the range",
}

_PLACES = (
    ("but for what fp32", "wrong_twice"),
    ("subnormal", "wrong_subnormals"),
    ("far below", "wrong_subnormals"),
    ("zero", "wrong_subnormals"),
    ("largest", "wrong_top"),
    ("infinity", "wrong_special"),
    ("NaN", "wrong_special"),
    ("half-way", "wrong_half_way"),
)

RULES: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("bias_too_large", {"below": "exponent_zero", "top": "top_exponent_used"}),
    ("bias_too_small", {"below": "exponent_two", "top": "half_range"}),
    ("bias_of_fp16", {"bias": "of_fp16"}),
    ("bias_of_fp32", {"bias": "of_fp32"}),
    ("steps_of_one", {"steps": "fixed"}),
    ("steps_in_proportion", {"steps": "in_proportion"}),
    ("decimal_digits", {"steps": "decimal"}),
    ("steps_not_undone", {"result": "count"}),
    ("exponent_too_high", {"logarithm": "up"}),
    ("exponent_too_high", {"logarithm": "of_frexp"}),
    ("exponent_too_low", {"logarithm": "down"}),
    ("logarithm_cut", {"logarithm": "cut"}),
    ("saturated", {"top": "saturated"}),
    ("saturated", {"top": "saturated", "infinity": "saturated"}),
    ("half_up", {"ties": "away"}),
    ("half_upward", {"ties": "upward"}),
    ("half_toward_zero", {"ties": "toward_zero"}),
    ("half_downward", {"ties": "downward"}),
    ("half_to_odd", {"ties": "odd"}),
    ("half_added_and_cut", {"ties": "half_added_and_cut"}),
    ("truncated", {"ties": "cut"}),
    ("floored", {"ties": "floor"}),
    ("ceiled", {"ties": "ceiling"}),
    ("rounded_outward", {"ties": "outward"}),
    ("subnormals_flushed", {"below": "flushed"}),
    ("subnormals_flushed_after_rounding", {"below": "flushed_after"}),
    ("subnormals_without_end", {"below": "unlimited"}),
    ("lowest_exponent_too_low", {"below": "exponent_zero"}),
    ("lowest_exponent_too_high", {"below": "exponent_two"}),
    ("smallest_is_the_limit", {"smallest": "is_the_limit"}),
    ("half_of_smallest_rounded_up", {"smallest": "from_half_way"}),
    ("one_bit_too_few", {"bits": "one_bit_less"}),
    ("one_bit_too_many", {"bits": "one_bit_more"}),
    ("never_infinite", {"top": "never"}),
    ("largest_is_the_limit", {"top": "largest_is_the_limit"}),
    ("largest_is_infinite", {"top": "largest_is_infinite"}),
    ("half_way_above_largest_kept", {"top": "half_way_is_kept"}),
    ("half_way_above_largest_kept", {"top": "half_way_is_left"}),
    ("carry_not_seen", {"top": "not_seen_after_rounding"}),
    ("integer_range", {"top": "integer_range"}),
    ("published_maximum", {"top": "published"}),
    ("limit_of_fp16", {"top": "of_fp16"}),
    ("limit_of_fp16", {"top": "of_fp16_before"}),
    ("negative_overflow_kept", {"top": "positive_alone"}),
    ("power_kept", {"top": "power_is_kept"}),
    ("top_exponent_used", {"top": "top_exponent_used"}),
    ("rounded_twice", {"first": "fp32"}),
    ("fp16_before_the_format", {"first": "fp16"}),
    ("rounded_twice", {"first": "fp32_steps"}),
    ("negative_values_kept", {"negative": "kept"}),
    ("sign_lost", {"sign": "lost"}),
    ("sign_lost", {"sign": "lost_if_finite"}),
    ("sign_lost_but_at_infinity", {"sign": "lost_but_at_infinity"}),
    ("sign_lost_at_infinity", {"sign": "lost_at_infinity"}),
    ("nan_made_infinite", {"nan": "infinite"}),
)


def place_of(kind: str) -> str:
    """Return the code for a kind of values that is rounded wrongly for a reason not known."""
    return next((code for part, code in _PLACES if part in kind), "wrong_normal")
