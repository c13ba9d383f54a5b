"""Points that a person gives, put onto the rows of a grading."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.classroom.base.row import FAILED, Row
from grader.classroom.base.storage import one_line
from grader.classroom.gradebook.recorded import GradebookRecord, recorded_in_gradebook
from grader.classroom.handed_in.received import received_times
from grader.classroom.scoring.scores import NOT_GRADABLE

from .counted import Parts, counted_parts

BY_HAND = "points by hand: "  # what a comment says of an override, between the check and the reason
NO_REASON = "given in formgrader"
TO_LOOK_AT = ("tampered", NOT_GRADABLE, "manual")


def with_gradebook(classroom: Path, rows: Iterable[Row]) -> list[Row]:
    """Return the rows with the parts of `counted.csv`, and with manual grades and penalties of the gradebook.

    Raises:
        ClassroomError: if `counted.csv` names what there is not, or the gradebook cannot be read.
    """
    parts = counted_parts(classroom)
    found = recorded_in_gradebook(classroom)
    times = received_times(classroom)
    done = []
    for row in rows:
        checks = [_check_as_it_stands(row, check, parts, found) for check in row.checks]
        seconds, penalty = found.late.get((row.student, row.lesson), (0.0, 0.0))
        received = times.get((row.student, row.lesson, row.digest), row.received)
        done.append(replace(row, checks=checks, received=received, late_seconds=seconds, late_penalty=penalty))
    return done


def carry_by_hand(earlier: Iterable[Row], row: Row) -> Row:
    """Return a new row that remembers for which file the points by hand of the grading before were given."""
    old = next((old for old in earlier if (old.student, old.lesson) == (row.student, row.lesson)), None)
    given = {check["check"]: check for check in old.checks if check.get("manual")} if old else {}
    checks = [
        check | _given_as(given[check["check"]], old.digest) if old and check["check"] in given else check
        for check in row.checks
    ]
    return replace(row, checks=checks)


def _given_as(check: dict[str, Any], digest: str) -> dict[str, Any]:
    return {"given_as": [check["points"], check["because"]], "given_for": check.get("given_for", digest)}


def open_points(row: Row) -> list[dict[str, Any]]:
    """Return the checks whose points a person has yet to give or to confirm."""
    return [check for check in row.checks if _is_open(row, check)]


def _is_open(row: Row, check: dict[str, Any]) -> bool:
    if check.get("manual"):
        return is_outlived(row, check)
    return check["verdict"] in TO_LOOK_AT or check["points"] is None or bool(check.get("needs_review"))


def is_outlived(row: Row, check: dict[str, Any]) -> bool:
    """Whether points by hand were given for a file in whose place another one was handed in."""
    return bool(check.get("manual")) and check.get("given_for", row.digest) != row.digest


def _check_as_it_stands(row: Row, check: dict[str, Any], parts: Parts, found: GradebookRecord) -> dict[str, Any]:
    key = (row.student, row.lesson, check["check"])
    changed = check | {"part": parts.get(key[1:], check["part"]), "manual": False, "because": ""}
    automatic, manual, extra = found.points.get(key, (None, None, None))
    if manual is not None:
        because = _because(found.comments.get((*key[:2], check["exercise"] or check["check"]), ""), check["check"])
        points = manual + (extra or 0.0)
        is_as_before = check.get("given_as") == [points, because]
        given = {"given_as": [points, because], "given_for": check["given_for"] if is_as_before else row.digest}
        return changed | given | {"points": points, "manual": True, "because": because}
    if row.status == FAILED or key not in found.points:
        return changed
    if check["verdict"] == NOT_GRADABLE:
        return changed | {"points": None}
    return changed | {"points": (automatic or 0.0) + (extra or 0.0)}


def _because(comment: str, check: str) -> str:
    """Return the reason that the comment on the exercise keeps for this check."""
    for line in comment.splitlines():
        name, mark, reason = line.partition(BY_HAND)
        if mark and check in name:
            return one_line(reason)
    return NO_REASON
