"""Rounding of a value to a format, by the right rules or by others, in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import torch

from grader.cases.number_formats import BitFormat

Rules = Mapping[str, str]


def round_by(value: float, bit_format: BitFormat, rules: Rules) -> float:
    """Round a value to a format.

    Args:
        value: The value.
        bit_format: The format, with infinities.
        rules: What to do otherwise than right, by the question; {} is right.

    Returns:
        A number of the format, or an infinity, or NaN.
    """
    if math.isnan(value):
        return {"right": math.nan, "infinite": math.inf}[rules.get("nan", "right")]
    if rules.get("first") == "fp32":
        value = float(torch.tensor(value, dtype=torch.float32))
    elif rules.get("first") == "fp16":
        value = float(torch.tensor(value, dtype=torch.float16))
    sign = 1.0 if rules.get("sign") == "lost" else math.copysign(1.0, value)
    if math.isinf(value):
        return sign * (_largest(bit_format) if rules.get("infinity") == "saturated" else math.inf)
    rounded = _rounded(Fraction(abs(value)), sign, bit_format, rules)
    magnitude = _at_the_top(Fraction(abs(value)), rounded, bit_format, rules.get("top", "right"))
    return (1.0 if rules.get("sign") == "lost_at_infinity" and math.isinf(magnitude) else sign) * magnitude


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
    exponent = math.frexp(magnitude)[1] - 1
    if rules.get("logarithm") == "up" and Fraction(2) ** exponent < magnitude:
        exponent += 1
    if below != "unlimited":
        exponent = max(exponent, lowest)
    if rules.get("steps") == "fixed":
        exponent = 0
    longer = {"one_bit_less": -1, "one_bit_more": 1}.get(rules.get("bits", ""), 0)
    step = Fraction(2) ** (exponent - bit_format.mantissa_bits - longer)
    rounded = _to_whole(magnitude / step, sign, rules.get("ties", "even")) * step
    if below == "flushed_after" and rounded < Fraction(2) ** lowest:
        return Fraction(0)
    return rounded


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
        "not_seen_after_rounding": magnitude >= Fraction(2) ** (bit_format.bias + 1),
        "integer_range": magnitude > Fraction(2.0 ** (bit_format.bias + 1) - 1.0),  # in floats, as it is written
        "power_is_kept": rounded > Fraction(2) ** (bit_format.bias + 1),
        "top_exponent_used": rounded > 2 * largest,
    }[rule]
    if is_infinite:
        return math.inf
    is_cut = rule in ("saturated", "half_way_is_kept", "integer_range")
    return float(min(rounded, largest) if is_cut else rounded)
