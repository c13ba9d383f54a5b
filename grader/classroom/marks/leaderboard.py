"""Place the lean runs of the capstone on the plane of bytes and FLOPs, from what their checks measured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from grader.classroom.base.row import PASS, Row

LESSON = "25_capstone"
RUNS = {"check_lean_costs": "raw", "check_library_run": "library"}
# The ends of the line that a run may not exceed: FLOPs and peak, each over those of the plain run.
LINE = ((1.02, 0.25), (1.2, 0.14))
MEASURED = re.compile(
    r"(?P<peak>[\d.,]+ [KMG]?i?B), \d+% of the plain run's (?P<plain>[\d.,]+ [KMG]?i?B), "
    r"at (?P<flops>[\d.]+) times its FLOPs"
)
UNITS = {"B": 0, "KiB": 1, "MiB": 2, "GiB": 3}


@dataclass(frozen=True)
class Place:
    """A run that passed.

    Attributes:
        student: Whose it is.
        form: "raw" or "library".
        share: Its peak, over the plain run's.
        flops: Its FLOPs, over the plain run's.
        is_beaten: Whether another run of the class is at least as good in both numbers and better in one.
    """

    student: str
    form: str
    share: float
    flops: float
    is_beaten: bool = False

    @property
    def of_allowed(self) -> float:
        """The peak, over the most that is allowed at its FLOPs."""
        (free, lean), (dear, leanest) = LINE
        spent = min(max((self.flops - free) / (dear - free), 0.0), 1.0)
        return self.share / (lean + spent * (leanest - lean))


def leaderboard(rows: Iterable[Row]) -> list[Place]:
    """Return the runs that passed, the best first: the smallest share of what is allowed at their FLOPs."""
    places = [
        place
        for row in rows
        if row.lesson == LESSON
        for check in row.checks
        if check.check in RUNS and check.verdict == PASS and not check.manual
        if (place := _place(row.student, RUNS[check.check], check.measured))
    ]
    marked = [
        Place(one.student, one.form, one.share, one.flops, any(_beats(other, one) for other in places))
        for one in places
    ]
    return sorted(marked, key=lambda place: (place.of_allowed, place.flops, place.student, place.form))


def _place(student: str, form: str, measured: str) -> Place | None:
    found = MEASURED.match(measured)
    if found is None:
        return None  # graded by a version that kept no figures
    return Place(student, form, _bytes(found["peak"]) / _bytes(found["plain"]), float(found["flops"]))


def _bytes(text: str) -> float:
    number, unit = text.split()
    return float(number.replace(",", "")) * 1024.0 ** UNITS[unit]


def _beats(one: Place, other: Place) -> bool:
    ours, theirs = (one.share, one.flops), (other.share, other.flops)
    return one.share <= other.share and one.flops <= other.flops and ours != theirs
