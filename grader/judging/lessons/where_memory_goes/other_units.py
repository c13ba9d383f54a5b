"""Recognises right counts of bytes in another unit."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.lessons.where_memory_goes.deviations import Deviation
from grader.units import GIB, KIB, MIB

UNITS = {
    "mebibytes_for_bytes": MIB,
    "megabytes_for_bytes": 10**6,
    "gibibytes_for_bytes": GIB,
    "gigabytes_for_bytes": 10**9,
    "kibibytes_for_bytes": KIB,
    "kilobytes_for_bytes": 10**3,
    "bits_for_bytes": 1 / 8,
}


def other_unit(answers: Sequence[float], rights: Sequence[float]) -> Deviation | None:
    """Return the unit in which all answers are right, exactly or to a whole number; None if there is none."""
    for code, unit_bytes in UNITS.items():
        if any(answers) and all(_is_in_unit(*pair, unit_bytes) for pair in zip(answers, rights, strict=True)):
            return Deviation(code, {}, "the unit: bytes are asked for.")
    return None


def _is_in_unit(answer: float, right: float, unit_bytes: float) -> bool:
    units = right / unit_bytes
    return answer in (units // 1, round(units)) or abs(answer - units) <= 1e-3 * units
