"""The files of the marks: `grading.json`, and `marks.csv` with the students of the roster who handed in nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.classroom.base.row import FORMAT, MISSING, Row, read_rows
from grader.classroom.base.storage import one_line, write_table, write_text
from grader.classroom.handed_in.roster import read_roster, strangers
from grader.classroom.jobs.surroundings import versions
from grader.classroom.lesson.master import checks_of, lessons_of, master_path, read_notebook

from .by_hand import is_outlived, open_points, with_gradebook
from .counted import counted_parts

HEADER = (
    "student",
    "lesson",
    "core_points",
    "core_maximum",
    "mark_percent",
    "further_points",
    "further_maximum",
    "late_penalty",
    "to_look_at",
    "status",
    "reason",
)
LONGEST_REASON = 700
FORMULA = ("=", "+", "-", "@")  # what a spreadsheet takes for the beginning of one
NOT_HANDED_IN = "not handed in"


def write_report(classroom: Path, rows: Iterable[Row]) -> None:
    """Write `grading.json` and `marks.csv`: one row per submission, each file whole or not at all."""
    ordered = sorted(with_gradebook(classroom, rows), key=lambda row: (row.lesson, row.student))
    report = {"format": FORMAT, "versions": versions(), "submissions": [vars(row) for row in ordered]}
    write_text(classroom / "grading.json", json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_marks(classroom, ordered)


def lost_points(check: dict[str, Any]) -> bool:
    """Whether a check did not give all its points, or none are given yet."""
    return check["points"] is None or bool(check["points"] < check["maximum"])


def class_rows(classroom: Path) -> list[Row]:
    """Return the rows of the whole class as the last grading left them, the roster's missing students included."""
    return with_roster(classroom, read_rows(classroom), counted_parts(classroom))


def write_marks(classroom: Path, rows: Sequence[Row]) -> None:
    """Write `marks.csv` for these submissions and the roster."""
    everyone = with_roster(classroom, rows, counted_parts(classroom))
    write_table(classroom / "marks.csv", HEADER, [_marks_row(row) for row in everyone])


def said_of(row: Row) -> str:
    """Return the row's reason with what a person decided: points by hand, and a late penalty."""
    said = [row.reason]
    said += [
        f"{check['check']}: {check['points']:g} of {check['maximum']:g} points by hand ({check['because']})"
        f"{', given before this was handed in: please look at it' if is_outlived(row, check) else ''}"
        for check in row.checks
        if check.get("manual")
    ]
    if row.late_penalty:
        said.append(f"late by {row.late_seconds / 86400:.1f} days: {row.core_penalty:g} points off the mark")
    return one_line("; ".join(text for text in said if text), LONGEST_REASON)


def _marks_row(row: Row) -> tuple[object, ...]:
    core = (f"{row.points('core'):g}", f"{row.maximum('core'):g}", f"{row.mark_percent:.1f}")
    further = (f"{row.points('further'):g}", f"{row.maximum('further'):g}")
    person = (f"{row.core_penalty:g}", len(open_points(row)))
    reason = said_of(row)  # it may begin with the name of a file that a learner chose
    reason = f"'{reason}" if reason.startswith(FORMULA) else reason
    return (row.student, row.lesson, *core, *further, *person, row.status, reason)


def with_roster(classroom: Path, rows: Sequence[Row], parts: Mapping[tuple[str, str], str]) -> list[Row]:
    """Add a row for each student of the roster who handed in nothing, to lessons that anybody handed in.

    Args:
        classroom: The folder.
        rows: The submissions' rows.
        parts: The part of each check, from `counted_parts`.

    Returns:
        All rows; a student who is not on the roster is told in the reason.
    """
    roster = read_roster(classroom)
    outside = set(strangers(rows, roster))
    told = [
        replace(row, reason=_joined(row.reason, "not on the roster")) if row.student in outside else row for row in rows
    ]
    handed_in = {(row.student, row.lesson) for row in rows}
    known = set(lessons_of(classroom))
    for lesson in sorted({row.lesson for row in rows} & known) if roster else []:
        checks = [
            {
                "check": check.name,
                "exercise": check.exercise,
                "part": parts[lesson, check.name],
                "points": 0.0,
                "maximum": check.points,
                "verdict": MISSING,
                "code": "not_handed_in",
                "reason": NOT_HANDED_IN,
                "seconds": 0.0,
            }
            for check in checks_of(read_notebook(master_path(classroom, lesson)))
        ]
        absent = [student for student in roster if (student, lesson) not in handed_in]
        told += [Row(student, lesson, MISSING, NOT_HANDED_IN, checks) for student in absent]
    return sorted(told, key=lambda row: (row.lesson, row.student))


def _joined(*texts: str) -> str:
    return "; ".join(text for text in texts if text)
