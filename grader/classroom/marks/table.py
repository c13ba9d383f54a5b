"""`marks.csv`: one row per submission, and per student of the roster who handed in nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.classroom.base.storage import one_line, write_table
from grader.classroom.handed_in.roster import with_roster

from .counted import counted_parts
from .report import Row, read_rows
from .standing import is_outlived, open_points

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
