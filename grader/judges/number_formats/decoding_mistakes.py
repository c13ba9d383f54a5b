"""What learners get wrong when they decode a bit pattern, as rules that differ from the right ones."""

from __future__ import annotations

from collections.abc import Mapping

from grader.verdict import UNRECOGNISED

_ZERO = "exponent 0: the mantissa has no 1 in front of it, and the power of two is that of exponent 1"
_TOP = "the top exponent: mantissa 0 is infinity, any other mantissa is NaN"
_NO_INFINITY = "has_infinity is False: the top exponent stands for numbers, and one mantissa alone is NaN"
_FRACTION = "the fraction: the mantissa over 2**mantissa_bits, from 0 up to just below 1"
_BIAS = "the bias: half of the exponent's range, less one"

LOOK_AT: Mapping[str, str] = {
    "every_pattern_ordinary": f"one formula for all patterns: {_ZERO}. And {_TOP}",
    "formula_of_the_example": "15 is the bias of one format, and the formula is not for all patterns",
    "subnormals_with_one": _ZERO,
    "subnormals_with_one_raised": f"the power of two is right there. {_ZERO}",
    "subnormals_with_one_but_zero": f"0 is no exception of its own: {_ZERO}",
    "subnormals_half": f"{_ZERO}. Is it 0 - bias?",
    "subnormals_flushed": f"{_ZERO}: only mantissa 0 is zero",
    "top_is_ordinary": _TOP,
    "top_is_infinite": f"{_TOP}: which patterns are NaN?",
    "top_is_nan": f"{_TOP}: which pattern is infinity?",
    "infinity_and_nan_exchanged": _TOP,
    "ieee_assumed": f"{_NO_INFINITY}. Its largest number is 448 in e4m3, not 240",
    "flag_ignored": f"{_NO_INFINITY}. Where it is True, {_TOP}",
    "no_nan": f"{_NO_INFINITY}. Which one?",
    "finite_top_is_nan": f"{_NO_INFINITY}: a mantissa of ones",
    "finite_top_is_infinite": f"{_NO_INFINITY}: a mantissa of ones. What does it stand for?",
    "nan_at_every_exponent": f"{_NO_INFINITY}: are both the exponent and the mantissa all ones there?",
    "bias_too_large": _BIAS,
    "bias_too_small": _BIAS,
    "bias_forgotten": f"exponents below one: what is taken from the stored exponent? {_BIAS}",
    "bias_of_fp16": f"15 is the bias of five exponent bits. {_BIAS}",
    "bias_of_fp32": f"127 is the bias of eight exponent bits. {_BIAS}",
    "bias_is_whole_range": _BIAS,
    "bias_from_mantissa_bits": f"{_BIAS}: which count of bits says how large that range is?",
    "mantissa_not_divided": _FRACTION,
    "mantissa_over_twice": _FRACTION,
    "mantissa_over_half": _FRACTION,
    "mantissa_over_its_largest": f"{_FRACTION}: can it be 1?",
    "mantissa_as_decimals": f"binary digits after a binary point. {_FRACTION}",
    "mantissa_reversed": "the order of the mantissa's bits: the first of them is worth one half",
    "sign_lost": "the first bit: what becomes of it?",
    "sign_lost_at_infinity": "minus infinity",
    "sign_lost_at_zero": "the pattern with the sign bit alone: -0.0. An integer 0 has no sign, and a float has one",
    "sign_turned": "the first bit: does 1 mean minus?",
    "not_decoded": "the pattern as an integer: which of its bits are sign, exponent and mantissa?",
    "known_formats_only": "formats that you have seen are right: how does the value follow from the counts of bits?",
    "no_infinity_wrong": _NO_INFINITY,
    "exponent_zero_wrong": _ZERO,
    "top_exponent_wrong": f"{_TOP}. And {_NO_INFINITY}",
    "between_wrong": "exponents between 0 and the top: 1 plus the fraction, times 2 to the exponent less the bias",
    "sign_wrong": "the first bit: where does your function use it?",
    "one_value_for_all": "one value for all patterns: which part of the pattern does your function return?",
    UNRECOGNISED: "one pattern by hand: its sign, its exponent less the bias, its fraction",
}

_ORDINARY = {"below": "implicit_one", "top": "ordinary", "finite": "ordinary"}

RULES: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("every_pattern_ordinary", _ORDINARY),
    ("every_pattern_ordinary", {**_ORDINARY, "below": "flushed_but_zero"}),
    ("formula_of_the_example", {**_ORDINARY, "bias": "of_fp16"}),
    ("subnormals_with_one", {"below": "implicit_one"}),
    ("subnormals_with_one_raised", {"below": "implicit_one_raised"}),
    ("subnormals_with_one_but_zero", {"below": "flushed_but_zero"}),
    ("subnormals_half", {"below": "exponent_zero"}),
    ("subnormals_flushed", {"below": "flushed"}),
    ("top_is_ordinary", {"top": "ordinary"}),
    ("top_is_ordinary", {"top": "ordinary", "finite": "ordinary"}),
    ("top_is_infinite", {"top": "infinite"}),
    ("top_is_infinite", {"top": "infinite", "finite": "top_as_ieee"}),
    ("top_is_nan", {"top": "nan"}),
    ("top_is_nan", {"top": "nan", "finite": "top_as_ieee"}),
    ("infinity_and_nan_exchanged", {"top": "exchanged"}),
    ("ieee_assumed", {"finite": "ieee"}),
    ("flag_ignored", {"flag": "turned"}),
    ("no_nan", {"finite": "ordinary"}),
    ("finite_top_is_nan", {"finite": "nan"}),
    ("finite_top_is_infinite", {"finite": "infinite"}),
    ("nan_at_every_exponent", {"finite": "nan_in_mantissa"}),
    ("bias_too_large", {"bias": "too_large"}),
    ("bias_too_small", {"bias": "too_small"}),
    ("bias_forgotten", {"bias": "none"}),
    ("bias_of_fp16", {"bias": "of_fp16"}),
    ("bias_of_fp32", {"bias": "of_fp32"}),
    ("bias_is_whole_range", {"bias": "whole_range"}),
    ("bias_from_mantissa_bits", {"bias": "of_the_mantissa"}),
    ("mantissa_not_divided", {"fraction": "not_divided"}),
    ("mantissa_over_twice", {"fraction": "one_bit_more"}),
    ("mantissa_over_half", {"fraction": "one_bit_less"}),
    ("mantissa_over_its_largest", {"fraction": "largest_mantissa"}),
    ("mantissa_as_decimals", {"fraction": "decimal"}),
    ("mantissa_reversed", {"fraction": "reversed"}),
    ("sign_lost", {"sign": "lost"}),
    ("sign_lost_at_infinity", {"sign": "lost_at_infinity"}),
    ("sign_lost_at_zero", {"sign": "lost_at_zero"}),
    ("sign_turned", {"sign": "turned"}),
)
