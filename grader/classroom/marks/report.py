"""Write `grading.json` and `marks.csv`, with a row for each student of the roster who handed in nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from grader.classroom.base.progress import rough_duration
from grader.classroom.base.row import FORMAT, MISSING, Row, read_rows
from grader.classroom.base.storage import one_line, write_table, write_text
from grader.classroom.base.tables import as_text
from grader.classroom.gradebook.deadlines import due_times
from grader.classroom.handed_in.roster import read_roster, strangers
from grader.classroom.jobs.surroundings import versions
from grader.classroom.lesson.master import checks_of, lessons_of, master_path, read_notebook
from grader.classroom.scoring.scores import score_of

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
NOT_HANDED_IN = "not handed in"


def write_report(classroom: Path, rows: Iterable[Row]) -> None:
    """Write `grading.json` and `marks.csv`: one row per submission, each file whole or not at all."""
    ordered = sorted(with_gradebook(classroom, rows), key=lambda row: (row.lesson, row.student))
    report = {"format": FORMAT, "versions": versions(), "submissions": [row.to_json() for row in ordered]}
    write_text(classroom / "grading.json", json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_marks(classroom, ordered)


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
        f"{check.check}: {check.points:g} of {check.maximum:g} points by hand ({check.because})"
        f"{', given before this was handed in: please look at it' if is_outlived(row, check) else ''}"
        for check in row.checks
        if check.manual
    ]
    if row.late_penalty:
        said.append(f"late by {rough_duration(row.late_seconds)}: {row.core_penalty:g} points off the mark")
    return one_line("; ".join(text for text in said if text), LONGEST_REASON)


def _marks_row(row: Row) -> tuple[object, ...]:
    core = (f"{row.points('core'):g}", f"{row.maximum('core'):g}", f"{row.mark_percent:.1f}")
    further = (f"{row.points('further'):g}", f"{row.maximum('further'):g}")
    person = (f"{row.core_penalty:g}", len(open_points(row)))
    return (as_text(row.student), row.lesson, *core, *further, *person, row.status, as_text(said_of(row)))


def with_roster(classroom: Path, rows: Sequence[Row], parts: Mapping[tuple[str, str], str]) -> list[Row]:
    """Add a row for each student of the roster who lacks a lesson that others handed in, once it is due.

    Args:
        classroom: The folder.
        rows: The submissions' rows.
        parts: The part of each check, from `counted_parts`.

    Returns:
        All rows; the reason says which students are not on the roster.
    """
    roster = read_roster(classroom)
    outside = set(strangers(rows, roster))
    found = [
        replace(row, reason=_joined(row.reason, "not on the roster")) if row.student in outside else row for row in rows
    ]
    handed_in = {(row.student, row.lesson) for row in rows}
    known = set(lessons_of(classroom))
    for lesson in sorted({row.lesson for row in rows} & known - _not_yet_due(classroom)) if roster else []:
        scores = [
            replace(
                score_of(check, 0.0, MISSING, "not_handed_in", measured=NOT_HANDED_IN), part=parts[lesson, check.name]
            )
            for check in checks_of(read_notebook(master_path(classroom, lesson)))
        ]
        absent = [student for student in roster if (student, lesson) not in handed_in]
        found += [Row(student, lesson, MISSING, NOT_HANDED_IN, scores) for student in absent]
    return sorted(found, key=lambda row: (row.lesson, row.student))


def _not_yet_due(classroom: Path) -> set[str]:
    now = datetime.now(UTC)
    return {lesson for lesson, time in due_times(classroom).items() if time and time > now}


def _joined(*texts: str) -> str:
    return "; ".join(text for text in texts if text)
