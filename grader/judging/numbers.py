"""Misconceptions that are recognised by the number that they yield."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from grader.verdict import UNRECOGNISED, Verdict

CaseT = TypeVar("CaseT")


@dataclass(frozen=True)
class Mistake(Generic[CaseT]):
    """A misconception, known by the value that it yields on every case.

    Attributes:
        code: Its stable name.
        yields: The value on a case.
        look_at: The diagnosis, and where the learner looks next.
    """

    code: str
    yields: Callable[[CaseT], float]
    look_at: str


def recognise(
    mistakes: Sequence[Mistake[CaseT]], cases: Sequence[CaseT], answers: Sequence[float], relative: float = 1e-3
) -> Mistake[CaseT] | None:
    """Return the misconception that explains the answers to all cases, within `relative`; None if there is none."""
    for mistake in mistakes:
        values = [mistake.yields(case) for case in cases]
        if all(abs(answer - value) <= relative * abs(value) for answer, value in zip(answers, values, strict=True)):
            return mistake
    return None


def failed(mistake: Mistake[CaseT] | None, expected: str, measured: str, otherwise: str) -> Verdict:
    """Build the verdict of a miss: the misconception's where one was recognised, else the general advice."""
    if mistake is None:
        return Verdict(UNRECOGNISED, expected, measured, otherwise)
    return Verdict(mistake.code, expected, measured, mistake.look_at)
