"""Writes numbers of narrow formats as text, with powers of two where those say more."""

from __future__ import annotations

import math
from fractions import Fraction


def number_text(value: float) -> str:
    """Return a number in up to 10 digits, with its power of two where it is one and is very small or large."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if 0.001 <= abs(value) < 1e6:
        return f"{value:,.10g}"
    significand, exponent = math.frexp(abs(value))
    if Fraction(2 * significand) == 1:
        return f"{value:.7g} = {'-' if value < 0 else ''}2**{exponent - 1}"
    return f"{value:.7g}"


def exact_text(value: float) -> str:
    """Return a number as `number_text` does, or with all of its digits where the short text is another number."""
    short = number_text(value)
    is_exact = "=" in short or math.isnan(value) or float(short.replace(",", "")) == value
    return short if is_exact else f"{value:.17g}"
