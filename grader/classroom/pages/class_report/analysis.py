"""Compute the figures of a lesson and of each of its checks from the rows of a class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.classroom.base.row import CORE, GRADED, MANUAL, MISSING, STOPPED, Row, Score
from grader.classroom.running.execution import TAMPERED
from grader.verdict import PASSED, UNRECOGNISED, UNSOLVED

from .attempts import Attempt, is_first_passed, minutes_to_pass
from .statistics import FEWEST, correlation, fisher_interval, percentile, upper_lower_discrimination

LARGEST_SHARE_UNRECOGNISED = 0.2
NO_ANSWER = {UNSOLVED, "missing", "unreadable", "not_reached", "not_handed_in", "not_gradable", "grader_failed"}
Attempts = Mapping[str, Sequence[Attempt]]  # by student


@dataclass(frozen=True)
class Item:
    """How well a check separates strong students from weak ones.

    Attributes:
        n: Students.
        correlation: Of the check with the rest of the core points; None where one of them does not vary.
        interval: Its 95 % confidence interval.
        discrimination: Success of the upper 27 % less that of the lower 27 %.
    """

    n: int
    correlation: float | None
    interval: tuple[float, float] | None
    discrimination: float


@dataclass(frozen=True)
class CheckFigures:
    """The figures of one check in a class.

    Attributes:
        check: Its name.
        part: "core" or "further".
        maximum: Its points.
        n: Submissions in which it was graded.
        passed: How many of them earned all its points.
        first_n: Students who handed in a record with this check.
        first_passed: How many of them passed at the first attempt.
        minutes: Median minutes of work before the first pass, or None.
        minutes_n: Students behind that median.
        codes: What was wrong in those that failed, by how often.
        met: On the way there, by the number of students who met it.
        item: How well it separates strong from weak; None below 30 students.
    """

    check: str
    part: str
    maximum: float
    n: int
    passed: int
    first_n: int
    first_passed: int
    minutes: float | None
    minutes_n: int
    codes: Counter[str]
    met: Counter[str]
    item: Item | None

    @property
    def answered_failures(self) -> int:
        """Return the number of failures with an answer to judge."""
        return sum(count for code, count in self.codes.items() if code not in NO_ANSWER)

    @property
    def is_gap(self) -> bool:
        """Return whether too many failures were not recognised."""
        return self.codes[UNRECOGNISED] > LARGEST_SHARE_UNRECOGNISED * self.answered_failures


@dataclass(frozen=True)
class LessonFigures:
    """The figures of one lesson in a class.

    Attributes:
        lesson: Its name.
        rows: Everybody's row, missing students included.
        graded: The rows whose notebook was run.
        attempts: The records handed in, by student.
        checks: One entry per check, in the lesson's order.
    """

    lesson: str
    rows: tuple[Row, ...]
    graded: tuple[Row, ...]
    attempts: Attempts
    checks: tuple[CheckFigures, ...]

    @property
    def missing(self) -> int:
        """Return how many students of the roster handed in nothing."""
        return sum(row.status == MISSING for row in self.rows)


def lesson_figures(lesson: str, rows: Sequence[Row], attempts: Attempts) -> LessonFigures:
    """Return the figures of a lesson from all its rows."""
    graded = tuple(row for row in rows if row.status in (GRADED, STOPPED))
    order: dict[str, Score] = {}
    for row in rows:
        for check in row.checks:
            order.setdefault(check.check, check)
    checks = tuple(_check_figures(check, graded, attempts) for check in order.values())
    return LessonFigures(lesson, tuple(rows), graded, attempts, checks)


def _check_figures(example: Score, graded: Sequence[Row], attempts: Attempts) -> CheckFigures:
    name = example.check
    pairs = [(row, check) for row in graded for check in row.checks if check.check == name and is_known(check)]
    failed = [check for _, check in pairs if check.is_lost]
    first = [passed for tried in attempts.values() if (passed := is_first_passed(tried, name)) is not None]
    minutes = [taken for tried in attempts.values() if (taken := minutes_to_pass(tried, name)) is not None]
    mistakes = [{a.code for a in tried if a.check == name} - {PASSED, UNSOLVED} for tried in attempts.values()]
    met = Counter(code for codes in mistakes for code in codes)
    return CheckFigures(
        check=name,
        part=example.part,
        maximum=example.maximum,
        n=len(pairs),
        passed=len(pairs) - len(failed),
        first_n=len(first),
        first_passed=sum(first),
        minutes=percentile(minutes, 50) if minutes else None,
        minutes_n=len(minutes),
        codes=Counter(check.code or check.verdict for check in failed),
        met=met,
        item=_item([(row, check) for row, check in pairs if check.maximum > 0]),
    )


def is_known(check: Score) -> bool:
    """Return whether its points say something of the answer: withheld and missing points do not."""
    return check.points is not None and (check.manual or check.verdict not in (TAMPERED, MANUAL))


def _item(pairs: Sequence[tuple[Row, Score]]) -> Item | None:
    """Return how a check goes with the rest of the core points; None below 30 students."""
    if len(pairs) < FEWEST:
        return None
    earned = [(check.points or 0.0) / check.maximum for _, check in pairs]
    own = [(check.points or 0.0) if check.part == CORE else 0.0 for _, check in pairs]
    rest = [round(row.points(CORE) - points, 6) for (row, _), points in zip(pairs, own, strict=True)]
    total = [row.points(CORE) for row, _ in pairs]
    r = correlation(earned, rest)
    interval = None if r is None else fisher_interval(r, len(pairs))
    return Item(len(pairs), r, interval, upper_lower_discrimination(earned, total))
