"""How numbers of narrow formats and bit patterns are written in a verdict."""

from __future__ import annotations

import math
from fractions import Fraction

from grader.lessons.number_formats.bit_format import BitFormat


def join_sentences(first: str, *others: str) -> str:
    """Write sentences one after another: a full stop between them where none ends one, and a capital letter."""
    text = first
    for other in others:
        text += ("" if text[-1] in ".?" else ".") + f" {other[0].upper()}{other[1:]}"
    return text


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


def say_exactly(value: float) -> str:
    """Write a value; one that differs from a short number by a trace keeps its last digits."""
    short = say_number(value)
    is_short = "=" in short or float(short.replace(",", "")) == value or value != value
    return short if is_short else f"{value:.17g}"


def say_pattern(pattern: int, bit_format: BitFormat) -> str:
    """Write a bit pattern with gaps between sign, exponent and mantissa."""
    bits = f"{pattern:0{1 + bit_format.exponent_bits + bit_format.mantissa_bits}b}"
    end = 1 + bit_format.exponent_bits
    return f"{bits[0]} {bits[1:end]} {bits[end:]}"
