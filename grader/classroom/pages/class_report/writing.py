"""Write `report.html` from the rows of a classroom and the records of attempts in it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import GRADED, MISSING, STOPPED, Row
from grader.classroom.base.storage import write_text
from grader.classroom.handed_in.roster import read_roster, strangers
from grader.classroom.marks.report import class_rows

from .analysis import Attempts, LessonFigures, lesson_figures
from .attempts import Attempt, read_attempts
from .check_sections import costs, items, misconceptions
from .page import NAME, NUMBER, heading, page, paragraph, table
from .sections import look_at, marks, people, success

FILE = "report.html"


def write_class_report(classroom: Path) -> Path:
    """Write the report of the last grading, and return where it is.

    Raises:
        ClassroomError: if nothing was graded yet.
    """
    rows = class_rows(classroom)
    if not rows:
        raise ClassroomError(f"{classroom} has no marks yet. Run `python -m grader autograde {classroom}` first.")
    write_text(classroom / FILE, report_page(rows, attempts_of(classroom, rows), _outside(classroom, rows)))
    return classroom / FILE


def attempts_of(classroom: Path, rows: Sequence[Row]) -> dict[str, Attempts]:
    """Return the records handed in: by lesson, then by student."""
    found: dict[str, dict[str, Sequence[Attempt]]] = {}
    for row in rows:
        attempts = read_attempts(classroom / "submitted", row) if row.status in (GRADED, STOPPED) and row.file else []
        if attempts:
            found.setdefault(row.lesson, {})[row.student] = attempts
    return dict(found)


def report_page(rows: Sequence[Row], attempts: dict[str, Attempts], outside: Sequence[str] = ()) -> str:
    """Return the report of these rows.

    Args:
        rows: The whole class.
        attempts: The records handed in, by lesson and student.
        outside: Students who are not on the roster.
    """
    lessons = sorted({row.lesson for row in rows})
    figures = [
        lesson_figures(lesson, [row for row in rows if row.lesson == lesson], attempts.get(lesson, {}))
        for lesson in lessons
    ]
    parts = [_overview(figures), people(rows)]
    if outside:
        parts.append(paragraph(f"Not on the roster, but handed in work: {', '.join(outside)}."))
    for found in figures:
        shown = (marks, success, items, misconceptions, costs)
        parts += [heading(2, found.lesson, found.lesson), *(section(found) for section in shown)]
    return page("Class report", parts)


def _outside(classroom: Path, rows: Sequence[Row]) -> list[str]:
    return strangers(rows, read_roster(classroom))


def _overview(figures: Sequence[LessonFigures]) -> str:
    columns = [
        ("lesson", NAME),
        ("submissions", NUMBER),
        ("missing", NUMBER),
        ("mean mark", NUMBER),
        ("to look at", NUMBER),
    ]
    rows = []
    for found in figures:
        handed_in = [row for row in found.rows if row.status != MISSING]
        mean = sum(row.mark_percent for row in handed_in) / len(handed_in) if handed_in else 0.0
        waiting = sum(len(look_at(row)) for row in handed_in)
        rows.append((found.lesson, len(handed_in), found.missing, f"{mean:.1f} %", waiting))
    links = " · ".join(f'<a href="#{escape(found.lesson, quote=True)}">{escape(found.lesson)}</a>' for found in figures)
    students = len({row.student for found in figures for row in found.rows})
    count = f"{students} {'student' if students == 1 else 'students'}"
    said = paragraph(f"{count}. The marks are in marks.csv; the numbers of this page come from grading.json.")
    return "\n".join(
        [said, *([f"<p>Lessons: {links}</p>"] if len(figures) > 1 else []), table("Lessons", columns, rows)]
    )
