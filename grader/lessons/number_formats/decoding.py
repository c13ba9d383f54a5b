"""Formats of which every bit pattern is decoded."""

from __future__ import annotations

import random

from grader.lessons.number_formats.bit_format import BF16, E4M3, E5M2, FP16, BitFormat

# None of torch's formats has so many exponent bits. With the mantissa bits below, a format has 4,096 patterns at most.
EXPONENT_BITS = (3, 6, 7)
MOST_BITS = 11


def decoding_cases(seed: int) -> tuple[BitFormat, ...]:
    """Return the four formats of 16 and 8 bits that torch has, and two that it does not have."""
    draw = random.Random(seed)
    first, second = draw.sample(EXPONENT_BITS, 2)
    with_infinity = BitFormat(first, draw.randint(2, MOST_BITS - first))
    without_infinity = BitFormat(second, draw.randint(2, MOST_BITS - second), has_infinity=False)
    return FP16, BF16, E5M2, E4M3, with_infinity, without_infinity
