"""What learners get wrong when they compute the limits of a format from its bits."""

from __future__ import annotations

from collections.abc import Mapping

from grader.judging.lessons.number_formats.limits_spacing import SPACING_MISTAKES
from grader.judging.lessons.number_formats.limits_truth import limits_of
from grader.judging.lessons.number_formats.wording import join_sentences
from grader.judging.numbers import Mistake
from grader.lessons.number_formats.limits import LimitsCase


def _bias(case: LimitsCase) -> int:
    return case.bit_format.bias


def _mantissa(case: LimitsCase) -> int:
    return case.bit_format.mantissa_bits


_TOP = "the top exponent: does it stand for numbers?"
_ONES = "the mantissa of the largest number: is it 0, or as large as it can be?"
_LOW = "stored exponent 0: are its numbers normal? Which exponent comes next?"
_SUBNORMAL = "stored exponent 0: its mantissa has no 1 in front, and its power of two is that of exponent 1"

MISTAKES: Mapping[str, tuple[Mistake[LimitsCase], ...]] = {
    "largest": (
        Mistake("top_exponent_used", lambda c: 2 * limits_of(c)["largest"], _TOP),
        Mistake("power_alone", lambda c: 2.0 ** _bias(c), _ONES),
        Mistake("power_alone", lambda c: 1.5 * 2.0 ** _bias(c), _ONES),
        Mistake("one_step_too_far", lambda c: 2.0 ** (_bias(c) + 1), "this number has the top exponent: one step down"),
        Mistake(
            "range_of_an_integer",
            lambda c: 2.0 ** (_bias(c) + 1) - 1,
            "an integer has steps of 1 everywhere: how large is the last step of this format?",
        ),
        Mistake(
            "range_of_an_integer",
            lambda c: c.bit_format.pattern_count - 1,
            "a count of patterns is no range: which pattern is the largest number, and what is its value?",
        ),
        Mistake(
            "range_of_an_integer",
            lambda c: c.bit_format.pattern_count / 2 - 1,
            "a count of patterns is no range: which pattern is the largest number, and what is its value?",
        ),
        Mistake(
            "fraction_without_one",
            lambda c: (1 - 2.0 ** -_mantissa(c)) * 2.0 ** _bias(c),
            join_sentences(_ONES, "And the 1?"),
        ),
        Mistake(
            "fraction_without_one",
            lambda c: (1 - 2.0 ** -_mantissa(c)) * 2.0 ** (_bias(c) + 1),
            join_sentences(_ONES, "And the 1?"),
        ),
        Mistake(
            "step_of_largest_off",
            lambda c: (2 - 2.0 ** (-1 - _mantissa(c))) * 2.0 ** _bias(c),
            join_sentences(_ONES, "The last step is 2**-mantissa_bits"),
        ),
        Mistake(
            "exponent_below_the_top_left_out",
            lambda c: limits_of(c)["largest"] / 2,
            "the top exponent is 2**exponent_bits - 1, and it stands for no number: the one below it does",
        ),
        Mistake(
            "largest_as_in_e4m3",
            lambda c: (2 - 2.0 ** (1 - _mantissa(c))) * 2.0 ** (_bias(c) + 1),
            "the top exponent stands for numbers in e4m3 alone: here it stands for infinities and NaN",
        ),
        Mistake("exponent_without_bias", lambda c: 2.0 ** (2**c.bit_format.exponent_bits - 2), "the bias"),
    ),
    "smallest_normal": (
        Mistake("exponent_zero_is_normal", lambda c: 2.0 ** -_bias(c), _LOW),
        Mistake("exponent_two_is_first", lambda c: 2.0 ** (2 - _bias(c)), _LOW),
        Mistake(
            "mantissa_not_zero",
            lambda c: (1 + 2.0 ** -_mantissa(c)) * 2.0 ** (1 - _bias(c)),
            "the mantissa of the smallest normal number: can it be 0?",
        ),
        Mistake("subnormal_for_normal", lambda c: limits_of(c)["smallest_subnormal"], "normal: with a 1 in front"),
        Mistake(
            "one_over_largest",
            lambda c: 1 / limits_of(c)["largest"],
            join_sentences("the range is not symmetric around 1", _LOW),
        ),
        Mistake("most_negative", lambda c: -limits_of(c)["largest"], "the smallest positive number is asked for"),
        Mistake("zero_for_smallest", lambda c: 0, "the smallest positive number is asked for"),
        Mistake(
            "spacing_of_one_for_smallest",
            lambda c: 2.0 ** -_mantissa(c),
            "how far a format reaches down is not how fine it is at 1",
        ),
    ),
    "smallest_subnormal": (
        Mistake("no_subnormals", lambda c: limits_of(c)["smallest_normal"], _SUBNORMAL),
        Mistake("exponent_zero_less_bias", lambda c: 2.0 ** (-_bias(c) - _mantissa(c)), _SUBNORMAL),
        Mistake(
            "half_of_smallest_normal",
            lambda c: limits_of(c)["smallest_normal"] / 2,
            "the last mantissa bit, not the first",
        ),
        Mistake("implicit_one_kept", lambda c: (1 + 2.0 ** -_mantissa(c)) * 2.0 ** (1 - _bias(c)), _SUBNORMAL),
        Mistake("implicit_one_kept", lambda c: (1 + 2.0 ** -_mantissa(c)) * 2.0 ** -_bias(c), _SUBNORMAL),
        Mistake("zero_for_smallest", lambda c: 0, "the smallest positive number is asked for: does `//` make it 0?"),
        Mistake(
            "twice_the_smallest",
            lambda c: 2 * limits_of(c)["smallest_subnormal"],
            "how many mantissa bits are there, and which of them is set?",
        ),
        Mistake(
            "largest_subnormal",
            lambda c: (1 - 2.0 ** -_mantissa(c)) * 2.0 ** (1 - _bias(c)),
            "the smallest one: one mantissa bit set",
        ),
        Mistake(
            "spacing_of_one_for_subnormal",
            lambda c: 2.0 ** -_mantissa(c),
            "how fine a format is at 1 is not how far it reaches down",
        ),
    ),
    "spacing": SPACING_MISTAKES,
}
