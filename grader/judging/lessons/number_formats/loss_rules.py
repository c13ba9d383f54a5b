"""Names what a value loses in a format: by its rounded value, and by thresholds, right ones or others."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from grader.judging.lessons.number_formats.rounding import rounded_in
from grader.lessons.number_formats.bit_format import BitFormat

Rules = Mapping[str, str]

_EXCHANGED = {"range": "precision", "precision": "range", "nothing": "nothing"}


def loss_of(value: float, bit_format: BitFormat) -> str:
    """Return what a value loses, from its rounded value."""
    rounded = rounded_in(bit_format, value)
    if rounded == value or math.isnan(value):
        return "nothing"
    return "range" if rounded == 0 or math.isinf(rounded) else "precision"


def name_by(value: float, bit_format: BitFormat, rules: Rules) -> str:
    """Name what a value loses by thresholds, right ones or others.

    Args:
        value: The value.
        bit_format: The format.
        rules: What to do otherwise than right, by the question; {} is right.
    """
    if math.isnan(value):
        return {"precision": "precision", "range": "range"}.get(rules.get("nan", ""), "nothing")
    special = rules.get("special", "right")
    if math.isinf(value):
        return "range" if special in ("infinity", "no_exception") else "nothing"
    if not value and special != "no_exception":
        return "range" if special == "zero" else "nothing"
    word = _name(value, bit_format, rules)
    return _EXCHANGED[word] if rules.get("words") == "exchanged" else word


def _name(value: float, bit_format: BitFormat, rules: Rules) -> str:
    """Name what a finite value loses."""
    sizes = {"nowhere": (value, value), "at_the_bottom": (value, abs(value))}
    above, below = sizes.get(rules.get("absolute", ""), (abs(value), abs(value)))
    is_up = value > 0  # where half-way goes, if it always goes towards plus infinity
    if _is_above(above, bit_format, rules.get("top", "right"), is_up):
        return rules.get("top_word", "range")
    if _is_below(below, bit_format, rules.get("bottom", "right"), is_up):
        return rules.get("bottom_word", "range")
    return "precision" if _is_changed(value, bit_format, rules.get("inside", "right")) else "nothing"


def _is_above(magnitude: float, bit_format: BitFormat, rule: str, is_up: bool) -> bool:
    power = 2.0 ** (bit_format.bias + 1)
    spacing = 2.0 ** (bit_format.bias - bit_format.mantissa_bits)
    limit = power - spacing / 2
    is_above = {
        "right": magnitude >= limit,
        "half_way_kept": magnitude > limit,
        "half_upward": magnitude > limit or (is_up and magnitude == limit),
        "largest": magnitude > power - spacing,
        "integer": magnitude > power - 1,
        "power": magnitude >= power,
        "of_fp16": magnitude > 65504,
        "half_way_of_fp16": magnitude >= 65520,
        "published": magnitude > 65535,
        "never": False,
    }
    return is_above[rule]


def _is_below(magnitude: float, bit_format: BitFormat, rule: str, is_up: bool) -> bool:
    normal = 2.0 ** (1 - bit_format.bias)
    smallest = normal * 2.0**-bit_format.mantissa_bits
    is_below = {
        "right": magnitude <= smallest / 2,
        "half_way_kept": magnitude < smallest / 2,
        "half_upward": magnitude < smallest / 2 or (not is_up and magnitude == smallest / 2),
        "smallest": magnitude < smallest,
        "normal": magnitude < normal,
        "normal_after_rounding": magnitude < normal - smallest / 2,
        "of_fp16": magnitude < 2.0**-14,
        "smallest_of_fp16": magnitude < 2.0**-24,
        "half_way_of_fp16": magnitude <= 2.0**-25,
        "epsilon": magnitude < 2.0**-bit_format.mantissa_bits,
        "never": False,
    }
    return is_below[rule]


def _is_changed(value: float, bit_format: BitFormat, rule: str) -> bool:
    """Whether a value within the range is, or is taken for, no number of the format."""
    if rule in ("nothing", "precision"):
        return rule == "precision"
    lowest = -2000 if rule == "relative" else 1 - bit_format.bias
    exponent = max(math.frexp(value)[1] - 1, lowest)
    is_number = math.ldexp(value, bit_format.mantissa_bits - exponent).is_integer()
    if rule in ("right", "relative"):
        return not is_number
    if rule == "subnormals_changed":
        return abs(value) < 2.0 ** (1 - bit_format.bias) or not is_number
    if rule == "whole_numbers":
        return not value.is_integer()
    if rule == "steps_of_one":
        return not math.ldexp(value, bit_format.mantissa_bits).is_integer()
    rounded = rounded_in(bit_format, value)
    return not {
        "by_rounding": rounded == value,
        "absolute": abs(rounded - value) < 1e-3,
        "close": math.isclose(rounded, value),
        "in_fp32": bool(torch.tensor(rounded) == torch.tensor(value)),
        "within_the_bound": abs(rounded - value) <= 2.0 ** -(bit_format.mantissa_bits + 1) * abs(value),
    }[rule]
