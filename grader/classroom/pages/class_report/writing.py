"""Write `report.html` from the rows of a classroom and the records of attempts in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import jinja2

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import GRADED, STOPPED, Row
from grader.classroom.base.storage import one_line, write_text
from grader.classroom.handed_in.roster import Student, read_roster, strangers
from grader.classroom.marks.report import class_rows

from .analysis import Attempts, lesson_figures
from .attempts import Attempt, read_attempts
from .blocks import Block, Fold, FoldEnd, Heading, Paragraph
from .first_screen import Material, first_screen
from .front import front
from .gains import gains
from .material import lesson_material
from .objectives import objectives
from .sections import costs, items, marks, misconceptions, overview, people, success

FILE = "report.html"
LONGEST_NAME = 30
TEMPLATE = "class_report.html.j2"


def write_class_report(classroom: Path) -> Path:
    """Write the report of the last grading, and return where it is.

    Raises:
        ClassroomError: if nothing was graded yet.
    """
    rows = class_rows(classroom)
    if not rows:
        raise ClassroomError(f"{classroom} has no marks yet. Run `python -m grader autograde {classroom}` first.")
    roster = read_roster(classroom)
    outside = strangers(rows, roster)
    material = {
        lesson: lesson_material(classroom, lesson, [row for row in rows if row.lesson == lesson])
        for lesson in {row.lesson for row in rows}
    }
    shown = {row.student: _shown_as(row.student, roster) for row in rows}
    attempts = {
        lesson: {shown[student]: found for student, found in by_student.items()}
        for lesson, by_student in attempts_of(classroom, rows).items()
    }
    named = [replace(row, student=shown[row.student]) for row in rows]
    write_text(classroom / FILE, report_page(named, attempts, outside, material))
    return classroom / FILE


def _shown_as(student: str, roster: Mapping[str, Student]) -> str:
    """Return a student's name and id; the id alone if the roster has no other name."""
    name = roster[student].name if student in roster else ""
    return f"{one_line(name, LONGEST_NAME)} ({student})" if name not in ("", student) else student


def attempts_of(classroom: Path, rows: Sequence[Row]) -> dict[str, Attempts]:
    """Return the records handed in: by lesson, then by student."""
    found: dict[str, dict[str, Sequence[Attempt]]] = {}
    for row in rows:
        attempts = read_attempts(classroom / "submitted", row) if row.status in (GRADED, STOPPED) and row.file else []
        if attempts:
            found.setdefault(row.lesson, {})[row.student] = attempts
    return dict(found)


def report_page(
    rows: Sequence[Row],
    attempts: Mapping[str, Attempts],
    outside: Sequence[str] = (),
    material: Mapping[str, Material] | None = None,
) -> str:
    """Return the report of these rows.

    Args:
        rows: The whole class.
        attempts: The records handed in, by lesson and student.
        outside: Students who are not on the roster.
        material: What is shown of lessons and submissions, by lesson.
    """
    lessons = sorted({row.lesson for row in rows})
    figures = [
        lesson_figures(lesson, [row for row in rows if row.lesson == lesson], attempts.get(lesson, {}))
        for lesson in lessons
    ]
    blocks: list[Block] = overview(figures)
    for found in figures:
        blocks.append(Heading(2, found.lesson, found.lesson))
        blocks += first_screen(found, (material or {}).get(found.lesson, Material()))
        blocks += front(found.rows)
        blocks += _folded("Marks", marks(found))
        blocks += _folded(
            "Objectives and checks", [*objectives(found), *success(found), *items(found), *misconceptions(found)]
        )
        blocks += _folded("Time and memory", costs(found))
    blocks += gains(rows)
    blocks += people(rows)
    if outside:
        blocks.append(Paragraph(f"Not on the roster, but handed in work: {', '.join(outside)}."))
    return _rendered(blocks)


def _folded(text: str, blocks: Sequence[Block]) -> list[Block]:
    return [Fold(text), *blocks, FoldEnd()] if blocks else []


def _rendered(blocks: Sequence[Block]) -> str:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["one_line"] = one_line
    return environment.get_template(TEMPLATE).render(blocks=blocks)
