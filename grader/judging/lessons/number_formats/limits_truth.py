"""The limits of a format, by its bits."""

from __future__ import annotations

import math

from grader.lessons.number_formats.limits import LimitsCase


def power_below(number: float) -> int:
    """Return the exponent of the largest power of two that is at most `number`."""
    return math.frexp(number)[1] - 1


def limits_of(case: LimitsCase) -> dict[str, float]:
    """Return the right answer for one case."""
    bias, mantissa_bits = case.bit_format.bias, case.bit_format.mantissa_bits
    exponent = max(power_below(case.number), 1 - bias)
    return {
        "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
        "smallest_normal": 2.0 ** (1 - bias),
        "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
        "spacing": 2.0 ** (exponent - mantissa_bits),
    }
