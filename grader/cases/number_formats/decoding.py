"""Formats of which every bit pattern is decoded."""

from __future__ import annotations

import random
from itertools import product

from grader.cases.number_formats.bit_format import BF16, E4M3, E5M2, FP16, BitFormat

# At most 4,096 patterns each, and none that the lesson or torch has under another rule.
UNSEEN = tuple(
    bits for bits in product((3, 4, 5, 6, 7), range(2, 9)) if sum(bits) <= 11 and bits not in ((4, 3), (5, 2))
)


def decoding_cases(seed: int) -> tuple[BitFormat, ...]:
    """The four formats of 16 and 8 bits that torch has, and two that it does not have."""
    draw = random.Random(seed)
    with_infinity = BitFormat(*draw.choice(UNSEEN))
    without_infinity = BitFormat(*draw.choice(UNSEEN), has_infinity=False)
    return FP16, BF16, E5M2, E4M3, with_infinity, without_infinity
