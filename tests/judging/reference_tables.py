"""A small table for the tests of the explanation engine: the bytes of a model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded


@dataclass(frozen=True)
class SizeCase:
    numbers: int
    bits: int


def size_cases(seed: int) -> tuple[SizeCase, ...]:
    return SizeCase(1000 + 7 * seed, 16), SizeCase(9 + seed, 32)


def round_up(size: float) -> int:
    return math.ceil(size)


def size_of(numbers: int, bits: int) -> float:
    size = numbers * bits / 8
    return round_up(size)


BITS = Misconception("bits_for_bytes", "You return bits. Divide by 8.", {" / 8": ""})


def make_table(*misconceptions, reference=(size_of, round_up)):
    return ReferenceTable(
        reference,
        *misconceptions,
        hard_coded(size_cases),
        run=lambda size_of, case: size_of(case.numbers, case.bits),
        cases=size_cases,
    )
