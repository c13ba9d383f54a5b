"""Formats that the lesson does not show, each with a number at which the spacing is asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

from grader.lessons.number_formats.bit_format import BitFormat

LIMITS = ("largest", "smallest_normal", "smallest_subnormal", "spacing")

SHOWN = ((5, 10), (8, 7), (8, 10), (5, 2), (8, 23))  # by the lesson


@dataclass(frozen=True)
class LimitsCase:
    """A format and a number.

    Attributes:
        bit_format: The format, with infinities.
        number: A positive number within the format's range.
        what: Where the number is.
    """

    bit_format: BitFormat
    number: float
    what: str


def limits_cases(seed: int) -> tuple[LimitsCase, ...]:
    """Return five settings: numbers above and below one, a power of two, and two numbers among the subnormals."""
    draw = random.Random(seed)
    wide, narrow = _bits(draw, (6, 7), 3), _bits(draw, (4, 5), 2)
    return (
        _case(wide[0], draw.uniform(1.6, 1.9), draw.randrange(3, 20), "a number above one"),
        _case(narrow[0], 1.0, draw.choice((-4, -3, -2, 2, 3, 4)), "a power of two"),
        _case(wide[1], draw.uniform(1.1, 1.4), draw.randrange(-20, -3), "a number below one"),
        _subnormal_case(narrow[1], draw),
        _subnormal_case(wide[2], draw),
    )


def _bits(draw: random.Random, exponent_bits: tuple[int, ...], count: int) -> list[tuple[int, int]]:
    """Draw formats that the lesson does not show."""
    unseen = [bits for bits in product(exponent_bits, range(3, 19)) if bits not in SHOWN]
    return draw.sample(unseen, count)


def _case(bits: tuple[int, int], significand: float, exponent: int, what: str) -> LimitsCase:
    return LimitsCase(BitFormat(*bits), significand * 2.0**exponent, what)


def _subnormal_case(bits: tuple[int, int], draw: random.Random) -> LimitsCase:
    """Draw a number between a sixteenth and a quarter of the smallest normal number."""
    return _case(bits, draw.uniform(1.1, 1.9), -1 - BitFormat(*bits).bias - draw.randrange(1, 3), "a subnormal number")
