"""Rounding of a value to a format, by the right rules or by others, in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import torch

from grader.lessons.number_formats.bit_format import BitFormat

Rules = Mapping[str, str]

_OTHER_EXPONENT_BITS: Mapping[str, int] = {"of_fp16": 5, "of_fp32": 8}  # of the bias that is used


def round_by(value: float, bit_format: BitFormat, rules: Rules) -> float:
    """Round a value to a format.

    Args:
        value: The value.
        bit_format: The format, with infinities.
        rules: What to do otherwise than right, by the question; {} is right.

    Returns:
        A number of the format, or an infinity, or NaN.
    """
    value = _stop_before(value, bit_format, rules.get("first", "right"))
    if math.isnan(value):
        return {"right": math.nan, "infinite": math.inf}[rules.get("nan", "right")]
    if rules.get("negative") == "kept" and value <= 0:
        return value
    if other := _OTHER_EXPONENT_BITS.get(rules.get("bias", "")):
        bit_format = BitFormat(other, bit_format.mantissa_bits)
    rule, sign = rules.get("sign", "right"), math.copysign(1.0, value)
    if math.isinf(value):
        infinity = _largest(bit_format) if rules.get("infinity") == "saturated" else math.inf
        return (1.0 if rule == "lost" else sign) * infinity
    direction = sign if rule in ("right", "lost_at_infinity") else 1.0
    rounded = _rounded(Fraction(abs(value)), direction, bit_format, rules)
    top = rules.get("top", "right")
    if top == "positive_alone":
        top = "right" if sign > 0 else "never"
    magnitude = _at_the_top(Fraction(abs(value)), rounded, bit_format, top)
    return magnitude if _is_sign_lost(rule, math.isinf(magnitude)) else sign * magnitude


def _stop_before(value: float, bit_format: BitFormat, rule: str) -> float:
    """Round to another format first, or compute in it."""
    if rule == "right":
        return value
    is_step_infinite = math.frexp(value)[1] - 1 - bit_format.mantissa_bits > 127  # in fp32
    rounded = float(torch.tensor(value, dtype=torch.float16 if rule == "fp16" else torch.float32))
    return math.nan if rule == "fp32_steps" and is_step_infinite else rounded  # infinity over infinity


def _is_sign_lost(rule: str, is_infinite: bool) -> bool:
    """Whether a finite value loses its sign."""
    if rule in ("lost_at_infinity", "lost_but_at_infinity"):
        return is_infinite == (rule == "lost_at_infinity")
    return rule in ("lost", "lost_if_finite")


def _largest(bit_format: BitFormat) -> float:
    return (2 - 2.0**-bit_format.mantissa_bits) * 2.0**bit_format.bias


def _rounded(magnitude: Fraction, sign: float, bit_format: BitFormat, rules: Rules) -> Fraction:
    """Round to the steps of the format, without a limit at the top."""
    if not magnitude:
        return magnitude
    below = rules.get("below", "right")
    lowest = 1 - bit_format.bias + {"exponent_zero": -1, "exponent_two": 1}.get(below, 0)
    if below == "flushed" and magnitude < Fraction(2) ** lowest:
        return Fraction(0)
    if rules.get("steps") == "in_proportion":
        return magnitude
    if rules.get("steps") == "decimal":
        return Fraction(round(float(magnitude), bit_format.mantissa_bits))
    exponent = _exponent(magnitude, rules.get("logarithm", "right"))
    if below != "unlimited":
        exponent = max(exponent, lowest)
    if rules.get("steps") == "fixed":
        exponent = 0
    longer = {"one_bit_less": -1, "one_bit_more": 1}.get(rules.get("bits", ""), 0)
    step = Fraction(2) ** (exponent - bit_format.mantissa_bits - longer)
    smallest = Fraction(2) ** (lowest - bit_format.mantissa_bits)
    if magnitude < smallest and rules.get("smallest") == "is_the_limit":
        return Fraction(0)
    if magnitude == smallest / 2 and rules.get("smallest") == "from_half_way":
        return smallest
    count = _to_whole(magnitude / step, sign, rules.get("ties", "even"))
    rounded = Fraction(count) if rules.get("result") == "count" else count * step
    if below == "flushed_after" and rounded < Fraction(2) ** lowest:
        return Fraction(0)
    return rounded


def _exponent(magnitude: Fraction, rule: str) -> int:
    """Return the exponent of the power of two at or below a number, or what is taken for it."""
    exponent = math.frexp(magnitude)[1] - 1
    is_power = Fraction(2) ** exponent == magnitude
    raised = {
        "right": 0,
        "down": -1,
        "up": 0 if is_power else 1,
        "of_frexp": 1,
        "cut": 1 if exponent < 0 and not is_power else 0,
    }
    return exponent + raised[rule]


def _to_whole(steps: Fraction, sign: float, ties: str) -> int:
    """Round to a whole number of steps."""
    if ties == "half_added_and_cut":
        return abs(int(Fraction(sign) * steps + Fraction(1, 2)))
    below = math.floor(steps)
    rest = steps - below
    if ties in ("cut", "floor", "ceiling", "outward"):
        is_up = rest > 0 and (ties == "outward" or (ties == "floor" and sign < 0) or (ties == "ceiling" and sign > 0))
    elif rest == Fraction(1, 2):
        choices = {"even": below % 2 == 1, "odd": below % 2 == 0, "away": True, "toward_zero": False}
        is_up = choices.get(ties, (sign > 0) == (ties == "upward"))
    else:
        is_up = rest > Fraction(1, 2)
    return below + int(is_up)


def _at_the_top(magnitude: Fraction, rounded: Fraction, bit_format: BitFormat, rule: str) -> float:
    """Decide what becomes of a value above the largest number."""
    largest = Fraction(_largest(bit_format))
    limit = largest + Fraction(2) ** (bit_format.bias - bit_format.mantissa_bits - 1)  # half-way to the next number
    is_infinite = {
        "right": rounded > largest,
        "never": False,
        "saturated": False,
        "half_range": rounded >= Fraction(2) ** bit_format.bias,
        "largest_is_the_limit": magnitude > largest,
        "largest_is_infinite": rounded >= largest,
        "half_way_is_kept": magnitude > limit,
        "half_way_is_left": magnitude > limit,
        "of_fp16": rounded > 65504,
        "of_fp16_before": magnitude >= 65520,
        "published": magnitude > 65535,
        "not_seen_after_rounding": magnitude >= Fraction(2) ** (bit_format.bias + 1),
        "integer_range": magnitude > Fraction(2.0 ** (bit_format.bias + 1) - 1.0),  # in floats, as it is written
        "power_is_kept": rounded > Fraction(2) ** (bit_format.bias + 1),
        "top_exponent_used": rounded > 2 * largest,
    }[rule]
    if is_infinite:
        return math.inf
    is_cut = rule in ("saturated", "half_way_is_kept", "integer_range")
    return float(min(rounded, largest) if is_cut else rounded)
