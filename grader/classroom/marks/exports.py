"""Export marks for other programs: Canvas' gradebook import, Moodle's grading worksheet, and Gradescope's results."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import CORE, FURTHER, MISSING, PASS, Row, Score
from grader.classroom.base.storage import write_bytes, write_table, write_text
from grader.classroom.base.tables import as_text
from grader.classroom.handed_in.roster import CANVAS, Student, read_roster
from grader.classroom.scoring.comments import three_lines
from grader.questions import STEMS

from .by_hand import open_points
from .report import class_rows, said_of

CANVAS_FILE = "canvas.csv"
GRADESCOPE = "gradescope"
MOODLE = "moodle"
MOODLE_COLUMNS = ("Identifier", "Full name", "Email address", "Grade", "Maximum grade", "Last modified (grade)")


def export_marks(classroom: Path) -> tuple[int, list[str]]:
    """Write `canvas.csv`, and for each submission `gradescope/STUDENT/LESSON/results.json`.

    Where students have Moodle's numbers, `moodle/LESSON.csv` and `moodle/LESSON_feedback.zip` are written, too.

    Returns:
        How many students they hold, and what was left blank, as lines to read.

    Raises:
        ClassroomError: if nothing was graded yet.
    """
    rows = class_rows(classroom)
    if not rows:
        raise ClassroomError(f"{classroom} has no marks yet. Run `python -m grader autograde {classroom}` first.")
    roster = read_roster(classroom)
    left_blank = write_canvas(classroom / CANVAS_FILE, rows, roster)
    write_moodle(classroom, rows, roster)
    for row in rows:
        path = classroom / GRADESCOPE / row.student / row.lesson / "results.json"
        text = json.dumps(gradescope_results(row), indent=1, ensure_ascii=False, allow_nan=False)
        write_text(path, f"{text}\n")
    return len({row.student for row in rows}), left_blank


def write_canvas(path: Path, rows: Sequence[Row], roster: Mapping[str, Student]) -> list[str]:
    """Write the table that Canvas' gradebook imports: one column per lesson, named like it; none for the inventory.

    A mark that waits for a person is left blank, which Canvas takes for "no change".

    Returns:
        A line for each blank.
    """
    lessons = sorted({row.lesson for row in rows} - set(STEMS.values()))
    marks = {(row.student, row.lesson): row for row in rows}
    most = {lesson: max(row.maximum("core") for row in rows if row.lesson == lesson) for lesson in lessons}
    table = [["    Points Possible", "", "", "", "", *(f"{most[lesson]:g}" for lesson in lessons)]]
    for name in sorted({row.student for row in rows}):
        student = roster.get(name, Student(name, sis_login_id=name))
        ids = [student.canvas_id, student.sis_user_id, student.sis_login_id or student.student, student.section]
        person = [as_text(text) for text in (student.name or name, *ids)]
        table.append([*person, *(_canvas_mark(marks.get((name, lesson))) for lesson in lessons)])
    write_table(path, (*CANVAS, *lessons), table)
    waiting = [row for row in rows if _waits(row)]
    return [f"{row.student} {row.lesson}: {', '.join(_waits(row))}" for row in waiting]


def write_moodle(classroom: Path, rows: Sequence[Row], roster: Mapping[str, Student]) -> None:
    """Write what Moodle's assignments import: a grading worksheet for each lesson, and the feedback as a zip.

    Only students whose id is a number are in them: `zip_collect` names a student by Moodle's participant number. A mark
    that waits for a person is left out. Source: Moodle's `assignfeedback_offline` and `assignfeedback_file` plugins.
    """
    canvas = {name for name, student in roster.items() if student.canvas_id}  # their numbers are Canvas'
    lessons_rows = [row for row in rows if row.lesson not in STEMS.values()]
    numbered = [row for row in lessons_rows if row.student.isdecimal() and row.student not in canvas]
    for lesson in sorted({row.lesson for row in numbered}):
        own = [row for row in numbered if row.lesson == lesson and not _waits(row)]
        table = [(f"Participant {row.student}", *_moodle_mark(row, roster.get(row.student))) for row in own]
        write_table(classroom / MOODLE / f"{lesson}.csv", MOODLE_COLUMNS, table)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as pages:
            for row in own:
                if row.feedback and (classroom / row.feedback).is_file():
                    pages.write(classroom / row.feedback, f"{_moodle_folder(row, roster)}/{lesson}.html")
        write_bytes(classroom / MOODLE / f"{lesson}_feedback.zip", packed.getvalue())


def _moodle_folder(row: Row, roster: Mapping[str, Student]) -> str:
    """Return the folder by which Moodle finds the student: it reads the number after the first underscore."""
    name = roster[row.student].name if row.student in roster else ""
    return f"{re.sub('[_/]', ' ', name) or 'student'}_{row.student}_assignfeedback_file"


def _moodle_mark(row: Row, student: Student | None) -> tuple[object, ...]:
    """Return name, address, grade, its maximum, and a time of change that leaves Moodle to decide."""
    name, email = (student.name, student.email) if student else ("", "")
    return as_text(name), as_text(email), f"{round(row.mark_points, 2):g}", f"{row.maximum(CORE):g}", "-"


def _waits(row: Row) -> list[str]:
    """Return the checks of the mark that a person has yet to give points to."""
    return [check.check for check in open_points(row) if check.part == CORE]


def _canvas_mark(row: Row | None) -> str:
    return "" if row is None or _waits(row) else f"{round(row.mark_points, 2):g}"


def gradescope_results(row: Row) -> dict[str, Any]:
    """Return one submission in Gradescope's form of results; the score is the mark's points."""
    return {
        "score": row.mark_points,
        "execution_time": round(row.seconds, 2),
        "output": said_of(row),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(row, check) for check in row.checks],
        "extra_data": {
            "student": row.student,
            "lesson": row.lesson,
            "status": row.status,
            "core_maximum": row.maximum("core"),
            "late_penalty": row.core_penalty,
        },
    }


def _test(row: Row, check: Score) -> dict[str, Any]:
    test = {
        "name": f"{check.check}{' (further)' if check.part == FURTHER else ''}",
        "score": check.points or 0.0,
        "max_score": check.maximum,
        "status": "failed" if check.is_lost else "passed",
        "output": _output(row, check),
        "output_format": "text",
        "visibility": "visible",
    }
    return test | ({"execution_time": round(check.seconds, 3)} if check.seconds else {})


def _output(row: Row, check: Score) -> str:
    if check.manual:
        return f"points by hand: {check.because}"
    if row.status == MISSING:
        return row.reason
    if check.verdict == PASS:
        return "passed"
    lines = [f"{label:<8}  {text}" for label, text in three_lines(check.verdict, check.exercise, vars(check))]
    return "\n".join([check.code or check.verdict, *lines])
