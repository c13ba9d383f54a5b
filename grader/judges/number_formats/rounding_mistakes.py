"""What learners get wrong when they round to a format, as rules that differ from the right ones."""

from __future__ import annotations

from collections.abc import Mapping

from grader.verdict import UNRECOGNISED

_TIES = "half-way: of the two neighbours, the one whose mantissa is even"
_TOP = "round first, as if the exponent had no end; what is then above the largest number becomes infinite"
_BELOW = "below the smallest normal number all steps are equal: which one is it?"
_STEP = "the step at a value: 2**(exponent - mantissa_bits)"

LOOK_AT: Mapping[str, str] = {
    "bias_too_large": f"the bias: half of the exponent's range, less one. Both ends are off. {_TOP}",
    "bias_too_small": f"the bias: half of the exponent's range, less one. Both ends are off. {_TOP}",
    "half_up": f"{_TIES}. Adding a half and cutting rounds every half up",
    "half_upward": f"{_TIES}. floor(x + 0.5) rounds every half towards plus infinity",
    "half_toward_zero": _TIES,
    "half_downward": _TIES,
    "half_to_odd": f"{_TIES}: which one is even?",
    "half_added_and_cut": f"int(x + 0.5): what does it make of -1.3, and of half-way? {_TIES}",
    "truncated": "the nearest neighbour: int() and // cut off what is behind the last bit",
    "floored": "the nearest neighbour: floor() takes the lower one, for negative values too",
    "rounded_outward": "the nearest neighbour: yours is always the larger one",
    "ceiled": "the nearest neighbour: ceil() takes the upper one",
    "subnormals_flushed": f"{_BELOW} They are numbers of the format, not zeros",
    "subnormals_flushed_after_rounding": f"{_BELOW} They are numbers of the format, not zeros",
    "subnormals_without_end": f"{_BELOW} Yours get smaller and smaller",
    "lowest_exponent_too_low": f"{_BELOW} The lowest exponent is 1 - bias",
    "lowest_exponent_too_high": f"{_BELOW} The lowest exponent is 1 - bias",
    "one_bit_too_few": f"{_STEP}: the 1 in front is not one of the mantissa bits",
    "one_bit_too_many": f"{_STEP}: frexp gives a fraction below 1, so its exponent is one more",
    "never_infinite": f"no limit at the top: {_TOP}",
    "saturated": f"a value above the largest number: it is not cut to that number. {_TOP}",
    "largest_is_the_limit": f"a value just above the largest number may still round to it. {_TOP}",
    "largest_is_infinite": f"the largest number itself: is it infinite? {_TOP}",
    "half_way_above_largest_kept": f"half-way above the largest number: its mantissa is odd. {_TOP}",
    "carry_not_seen": f"rounding up may lead out of the format. {_TOP}",
    "integer_range": "65,535 is the largest integer of 16 bits: what is the largest number of this format?",
    "power_kept": f"2**(bias + 1) has the top exponent, which stands for no number. {_TOP}",
    "top_exponent_used": "the top exponent stands for infinities and NaN: what is the largest number?",
    "rounded_twice": "two roundings, first to fp32 and then to the format: the first one may make a half-way of it",
    "fp16_before_the_format": "two roundings, first to fp16: what is left of a value that fp16 cannot hold?",
    "steps_of_one": f"floating point: {_STEP}, and the exponent is that of the value",
    "exponent_too_high": f"{_STEP}: the exponent of the power of two at or below the value",
    "sign_lost": "a negative value: which sign has its result?",
    "sign_lost_at_infinity": "a negative value beyond the range: which infinity?",
    "nan_made_infinite": "NaN: every comparison with it is False. Which branch does it take?",
    "not_rounded": "the result is the value itself: is it a number of the format?",
    "fp16_for_all": "the counts of bits: these are numbers of fp16, whatever the format",
    "bf16_for_all": "the counts of bits: these are numbers of bf16, whatever the format",
    "known_formats_only": "formats that you have seen are right: what does your function do with other counts of bits?",
    "wrong_half_way": _TIES,
    "wrong_subnormals": _BELOW,
    "wrong_top": _TOP,
    "wrong_special": "infinity stays infinite, NaN stays NaN: neither has an exponent to work with",
    "wrong_twice": "a value that fp32 cannot hold: in which precision does your function compute?",
    "wrong_normal": f"{_STEP}. The result is the nearest multiple of it",
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
    ("steps_of_one", {"steps": "fixed"}),
    ("exponent_too_high", {"logarithm": "up"}),
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
    ("one_bit_too_few", {"bits": "one_bit_less"}),
    ("one_bit_too_many", {"bits": "one_bit_more"}),
    ("never_infinite", {"top": "never"}),
    ("largest_is_the_limit", {"top": "largest_is_the_limit"}),
    ("largest_is_infinite", {"top": "largest_is_infinite"}),
    ("half_way_above_largest_kept", {"top": "half_way_is_kept"}),
    ("carry_not_seen", {"top": "not_seen_after_rounding"}),
    ("integer_range", {"top": "integer_range"}),
    ("power_kept", {"top": "power_is_kept"}),
    ("top_exponent_used", {"top": "top_exponent_used"}),
    ("rounded_twice", {"first": "fp32"}),
    ("fp16_before_the_format", {"first": "fp16"}),
    ("sign_lost", {"sign": "lost"}),
    ("sign_lost_at_infinity", {"sign": "lost_at_infinity"}),
    ("nan_made_infinite", {"nan": "infinite"}),
)


def place_of(kind: str) -> str:
    """Return the code for a kind of values that is rounded wrongly for a reason not known."""
    return next((code for part, code in _PLACES if part in kind), "wrong_normal")
