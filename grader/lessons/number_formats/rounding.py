"""Values to be rounded, of each kind for which one rule of rounding decides."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from grader.lessons.number_formats.bit_format import BF16, E5M2, FP16, BitFormat

FEWER_EXPONENT_BITS = tuple(product((3, 4), range(4, 16)))
MORE_EXPONENT_BITS = tuple(bits for bits in product((6, 7), range(4, 16)) if bits != (6, 9))
DLFLOAT = BitFormat(6, 9)  # 16 bits, with which IBM trained networks (Agrawal and others, 2019)

LESSON_VALUES = (2049.0, 2051.0, 65519.0, 65520.0, 2.0**-24, 2.0**-25, 1 + 2.0**-11, 1 + 2.0**-8)

Kinds = Iterator[tuple[str, float]]


@dataclass(frozen=True)
class RoundingCase:
    """A format, and values to be rounded to it.

    Attributes:
        bit_format: The format, with infinities.
        values: The values.
        kinds: What is special about each value.
    """

    bit_format: BitFormat
    values: tuple[float, ...]
    kinds: tuple[str, ...]


def rounding_cases(seed: int) -> tuple[RoundingCase, ...]:
    """Return three formats that torch has, and three that it does not have, with the same kinds of values."""
    draw = random.Random(seed)
    unknown = [BitFormat(*draw.choice(bits)) for bits in (FEWER_EXPONENT_BITS, MORE_EXPONENT_BITS)]
    return tuple(_case(bit_format, draw) for bit_format in (FP16, BF16, E5M2, DLFLOAT, *unknown))


def _case(bit_format: BitFormat, draw: random.Random) -> RoundingCase:
    lesson = (("a value of the lesson", value) for value in LESSON_VALUES) if bit_format == FP16 else ()
    positive = [*lesson, *_normal(bit_format, draw), *_subnormal(bit_format), *_near_the_top(bit_format)]
    both = [pair for kind, value in positive for pair in ((kind, value), (kind, -value))]
    special = [("infinity", math.inf), ("infinity", -math.inf), ("NaN", math.nan)]
    kinds, values = zip(*both, *special, strict=True)
    return RoundingCase(bit_format, values, kinds)


def _normal(bit_format: BitFormat, draw: random.Random) -> Kinds:
    """Yield values between normal numbers: on them, half-way, very near half-way, just below a power of two."""
    steps = 2**bit_format.mantissa_bits  # from one power of two to the next
    for exponent in (0, 1, draw.randrange(2 - bit_format.bias, 0)):
        spacing = 2.0**exponent / steps
        even = 2 * draw.randrange(steps // 2)
        for index in (even, even + 1):
            half_way = (steps + index + 0.5) * spacing
            yield "a number of the format", (steps + index) * spacing
            yield "half-way", half_way
            yield "near half-way", half_way + spacing / 64
            yield "near half-way", half_way - spacing / 64
            yield "nearer to half-way than fp32 resolves", half_way * (1 + 2.0**-40)
            yield "nearer to half-way than fp32 resolves", half_way * (1 - 2.0**-40)
        number = (steps + draw.randrange(steps)) * spacing
        yield "very near a number of the format", number * (1 + 2.0**-28)
        yield "very near a number of the format", number * (1 - 2.0**-40)
        yield "just below a power of two", 2.0 ** (exponent + 1) - spacing / 8
        yield "any value", draw.uniform(1, 2) * 2.0**exponent


def _subnormal(bit_format: BitFormat) -> Kinds:
    """Yield values below the smallest normal number."""
    spacing = 2.0 ** (1 - bit_format.bias - bit_format.mantissa_bits)
    yield "zero", 0.0
    for index in (0, 1, 2):
        yield "subnormal, half-way", (index + 0.5) * spacing
        yield "subnormal", (index + 1) * spacing
        yield "subnormal", (index + 0.8) * spacing
        yield "subnormal", (index + 0.25) * spacing
    yield "subnormal", 0.5 * spacing * (1 + 2.0**-20)
    yield "subnormal, rounded to a normal number", 2.0 ** (1 - bit_format.bias) - spacing / 4
    yield "far below the format", 2.0**-1060


def _near_the_top(bit_format: BitFormat) -> Kinds:
    """Yield values around the largest number."""
    spacing = 2.0 ** (bit_format.bias - bit_format.mantissa_bits)
    largest = 2.0 ** (bit_format.bias + 1) - spacing
    yield "the largest number", largest
    yield "just above the largest number", largest + 0.25 * spacing
    yield "just above the largest number", largest + 0.499 * spacing
    yield "half-way above the largest number", largest + 0.5 * spacing
    yield "far above the largest number", largest + 0.75 * spacing
    yield "far above the largest number", largest + spacing
    yield "far above the largest number", 3.0 * 2.0**bit_format.bias
    yield "far above the largest number", 1e200
