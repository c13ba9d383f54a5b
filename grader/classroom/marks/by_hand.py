"""Put points that a person gave, and late penalties, onto the rows of a grading."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from grader.classroom.base.row import FAILED, MANUAL, NOT_GRADABLE, Row, Score
from grader.classroom.base.storage import one_line
from grader.classroom.gradebook.recorded import GradebookRecord, recorded_in_gradebook
from grader.classroom.handed_in.received import received_times
from grader.classroom.running.execution import TAMPERED

from .counted import Parts, counted_parts

BY_HAND = "points by hand: "  # what a comment says of an override, between the check and the reason
NO_REASON = "given in formgrader"
TO_LOOK_AT = (TAMPERED, NOT_GRADABLE, MANUAL)


def with_gradebook(classroom: Path, rows: Iterable[Row]) -> list[Row]:
    """Return the rows with the parts of `counted.csv`, and with manual grades and penalties of the gradebook.

    Raises:
        ClassroomError: if `counted.csv` names an unknown lesson or check, or the gradebook cannot be read.
    """
    parts = counted_parts(classroom)
    found = recorded_in_gradebook(classroom)
    times = received_times(classroom)
    done = []
    for row in rows:
        checks = [_as_recorded(row, check, parts, found) for check in row.checks]
        seconds, penalty = found.late.get((row.student, row.lesson), (0.0, 0.0))
        received = times.get((row.student, row.lesson, row.digest), row.received)
        done.append(replace(row, checks=checks, received=received, late_seconds=seconds, late_penalty=penalty))
    return done


def carry_by_hand(earlier: Iterable[Row], row: Row) -> Row:
    """Return a new row that remembers for which file the points by hand of the grading before were given."""
    old = next((old for old in earlier if (old.student, old.lesson) == (row.student, row.lesson)), None)
    given = {check.check: check for check in old.checks if check.manual} if old else {}
    checks = [
        _given_as(check, given[check.check], old.digest) if old and check.check in given else check
        for check in row.checks
    ]
    return replace(row, checks=checks)


def _given_as(check: Score, before: Score, digest: str) -> Score:
    given_for = digest if before.given_for is None else before.given_for
    return replace(check, given_as=(before.points or 0.0, before.because), given_for=given_for)


def open_points(row: Row) -> list[Score]:
    """Return the checks whose points a person has yet to give or to confirm."""
    return [check for check in row.checks if _is_open(row, check)]


def _is_open(row: Row, check: Score) -> bool:
    if check.manual:
        return is_outlived(row, check)
    return row.status == FAILED or check.verdict in TO_LOOK_AT or check.points is None or check.needs_review


def is_outlived(row: Row, check: Score) -> bool:
    """Return whether points by hand were given for a file that another one has replaced."""
    return check.manual and check.given_for not in (None, row.digest)


def _as_recorded(row: Row, check: Score, parts: Parts, found: GradebookRecord) -> Score:
    """Return a score with its part, and with what the gradebook has recorded of it."""
    key = (row.student, row.lesson, check.check)
    changed = replace(check, part=parts.get(key[1:], check.part), manual=False, because="")
    automatic, manual, extra = found.points.get(key, (None, None, None))
    if manual is not None:
        because = _because(found.comments.get((*key[:2], check.exercise or check.check), ""), check.check)
        given = (manual + (extra or 0.0), because)
        given_for = check.given_for if check.given_as == given else row.digest
        return replace(changed, points=given[0], manual=True, because=because, given_as=given, given_for=given_for)
    if row.status == FAILED or key not in found.points:
        return changed
    return replace(changed, points=None if check.verdict == NOT_GRADABLE else (automatic or 0.0) + (extra or 0.0))


def _because(comment: str, check: str) -> str:
    """Return the reason that the comment on the exercise keeps for this check."""
    for line in comment.splitlines():
        name, mark, reason = line.partition(BY_HAND)
        if mark and check in name:
            return one_line(reason)
    return NO_REASON
