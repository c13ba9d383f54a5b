"""What learners get wrong about the spacing of a format at a number."""

from __future__ import annotations

import math

from grader.judging.lessons.number_formats.limits_truth import limits_of, power_below
from grader.judging.lessons.number_formats.wording import join_sentences
from grader.judging.numbers import Mistake
from grader.lessons.number_formats.limits import LimitsCase

_STEP = "two neighbours of the format: how many steps are there from one power of two to the next?"
_POWER = "the power of two at or below the number: is the logarithm rounded down?"
_FLOAT = "this is the spacing of the float that holds the number, not of the format"
_HALF = join_sentences("the whole step, not the largest rounding error", _STEP)
_BELOW = "below the smallest normal number the steps stay what they are just above it"


def _bias(case: LimitsCase) -> int:
    return case.bit_format.bias


def _mantissa(case: LimitsCase) -> int:
    return case.bit_format.mantissa_bits


def _spacing(case: LimitsCase, exponent: int) -> float:
    return 2.0 ** (max(exponent, 1 - _bias(case)) - _mantissa(case))


def _is_normal(case: LimitsCase) -> bool:
    return power_below(case.number) >= 1 - _bias(case)


SPACING_MISTAKES: tuple[Mistake[LimitsCase], ...] = (
    Mistake(
        "spacing_of_one",
        lambda c: 2.0 ** -_mantissa(c),
        "the spacing at 1: what happens to it at each power of two?",
    ),
    Mistake(
        "spacing_in_proportion",
        lambda c: c.number * 2.0 ** -_mantissa(c),
        "between two powers of two the steps are equal: does yours change from number to number?",
    ),
    Mistake(
        "half_spacing",
        lambda c: limits_of(c)["spacing"] / 2,
        _HALF,
    ),
    Mistake(
        "half_spacing",
        lambda c: 2.0 ** (power_below(c.number) - _mantissa(c) - 1),
        _HALF,
    ),
    Mistake(
        "spacing_of_the_float",
        lambda c: math.ulp(c.number),
        _FLOAT,
    ),
    Mistake(
        "spacing_of_the_float",
        lambda c: 2.0 ** (power_below(c.number) - 23),
        _FLOAT,
    ),
    Mistake("double_spacing", lambda c: limits_of(c)["spacing"] * 2, _STEP),
    Mistake(
        "subnormals_without_end",
        lambda c: 2.0 ** (power_below(c.number) - _mantissa(c)),
        "below the smallest normal number: do the steps still get smaller?",
    ),
    Mistake(
        "smallest_step_everywhere",
        lambda c: limits_of(c)["smallest_subnormal"],
        "floating point: what happens to the steps at each power of two?",
    ),
    Mistake("logarithm_rounded_up", lambda c: _spacing(c, math.ceil(math.log2(c.number))), _POWER),
    Mistake("logarithm_rounded_up", lambda c: _spacing(c, power_below(c.number) + 1), _POWER),
    Mistake("logarithm_rounded", lambda c: _spacing(c, round(math.log2(c.number))), _POWER),
    Mistake(
        "logarithm_truncated",
        lambda c: _spacing(c, int(math.log2(c.number))),
        join_sentences(_POWER, "The function int() cuts towards 0"),
    ),
    Mistake("power_alone_for_spacing", lambda c: 2.0 ** power_below(c.number), _STEP),
    Mistake(
        "zero_among_subnormals",
        lambda c: limits_of(c)["spacing"] if _is_normal(c) else 0,
        f"{_BELOW}: they do not vanish",
    ),
    Mistake(
        "natural_logarithm",
        lambda c: _spacing(c, math.floor(math.log(c.number))),
        "math.log has base e: which base gives the power of two?",
    ),
    Mistake(
        "spacing_downwards",
        lambda c: _spacing(c, math.ceil(math.log2(c.number)) - 1),
        "at a power of two the step upwards is asked for: yours is the one below it",
    ),
    Mistake(
        "spacing_floor_too_low",
        lambda c: 2.0 ** (max(power_below(c.number), -_bias(c)) - _mantissa(c)),
        f"{_BELOW}: the lowest power of two is that of stored exponent 1",
    ),
    Mistake(
        "smallest_normal_among_subnormals",
        lambda c: limits_of(c)["spacing"] if _is_normal(c) else limits_of(c)["smallest_normal"],
        f"{_BELOW}: how many subnormal numbers are there?",
    ),
    Mistake(
        "one_step_too_few",
        lambda c: limits_of(c)["spacing"] * 2.0 ** _mantissa(c) / (2 ** _mantissa(c) - 1),
        "from one power of two to the next there are 2**mantissa_bits steps: the last one leads to that power",
    ),
)
