"""How numbers of narrow formats and bit patterns are written in a verdict."""

from __future__ import annotations

import math
from fractions import Fraction

from grader.cases.number_formats import BitFormat


def say_number(value: float) -> str:
    """Write a number with its power of two where that says more."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if 0.001 <= abs(value) < 1e6:
        return f"{value:,.10g}"
    significand, exponent = math.frexp(abs(value))
    sign, fraction = "-" if value < 0 else "", Fraction(2 * significand)
    power = f"2**{exponent - 1}"
    if fraction == 1:
        return f"{value:.7g} = {sign}{power}"
    return f"{value:.7g}"


def say_pattern(pattern: int, bit_format: BitFormat) -> str:
    """Write a bit pattern with gaps between sign, exponent and mantissa."""
    bits = f"{pattern:0{1 + bit_format.exponent_bits + bit_format.mantissa_bits}b}"
    end = 1 + bit_format.exponent_bits
    return f"{bits[0]} {bits[1:end]} {bits[end:]}"
