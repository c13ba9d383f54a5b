"""Keep the roster of a class, imported from the instructor's own list, Canvas' gradebook or Moodle's worksheet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import Row
from grader.classroom.base.storage import write_table
from grader.classroom.base.tables import read_table, require_columns

FILE = "roster.csv"
# How columns are called in lists of students; compared without case, spaces, underscores and hyphens.
STUDENT = ("student", "studentid", "id", "username", "user", "login", "netid", "uid", "identifier")
MOODLE_PREFIX = "Participant "  # in the column Identifier of Moodle's grading worksheet
NAME = ("name", "studentname", "fullname", "displayname")
FIRST, LAST = ("firstname", "givenname", "first"), ("lastname", "surname", "familyname", "last")
EMAIL = ("email", "emailaddress", "mail")
SECTION = ("section", "sections", "group", "class")
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CANVAS_IDS = ("SIS Login ID", "SIS User ID", "ID")  # in the order in which they name a student's folder
PARTS_OF_PATHS = re.compile(r"[/\\\0]")


@dataclass(frozen=True)
class Student:
    """One student of the class.

    Attributes:
        student: The id: the name of the student's folder in `submitted`.
        name: The name as the list writes it.
        email: The address.
        section: The section or group.
        canvas_id: Canvas' number.
        sis_user_id: Canvas' SIS User ID.
        sis_login_id: Canvas' SIS Login ID.
    """

    student: str
    name: str = ""
    email: str = ""
    section: str = ""
    canvas_id: str = ""
    sis_user_id: str = ""
    sis_login_id: str = ""


HEADER = tuple(field.name for field in fields(Student))


def read_roster(classroom: Path) -> dict[str, Student]:
    """Return the class by student id, in the roster's order; empty if no roster was imported.

    Raises:
        ClassroomError: if `roster.csv` was damaged.
    """
    path = classroom / FILE
    if not path.exists():
        return {}
    header, lines = read_table(path)
    require_columns(path, header, ("student",))
    return _by_id(path, [Student(**{name: line.get(name, "") for name in HEADER}) for line in lines])


def students_in(path: Path, id_column: str = "") -> dict[str, Student]:
    """Read a list of students of any common form: one's own, Canvas' exported gradebook, or Moodle's grading worksheet.

    Args:
        path: The CSV file.
        id_column: The column that names the students' folders; found by its usual names if left out.

    Raises:
        ClassroomError: if no column names the students, or two students have one id.
    """
    header, lines = read_table(path)
    if id_column:
        require_columns(path, header, [id_column])
    if {"Student", "ID", "Section"} <= set(header):
        return _by_id(path, [_from_canvas(line, id_column) for line in lines if _is_student(line)])
    plain = {name: re.sub(r"[\s_-]", "", name).lower() for name in header}
    column = id_column or _column(plain, STUDENT) or _column(plain, EMAIL)
    if not column:
        raise ClassroomError(
            f"{path} has no column that names the students: {', '.join(header)}. "
            "Call one of them student, or name it with --id COLUMN."
        )
    return _by_id(path, [_from_list(line, plain, column) for line in lines])


def write_roster(classroom: Path, students: Iterable[Student]) -> None:
    """Write `roster.csv`."""
    rows = [[getattr(student, name) for name in HEADER] for student in students]
    write_table(classroom / FILE, HEADER, rows)


def with_canvas_ids(students: Mapping[str, Student], before: Mapping[str, Student]) -> dict[str, Student]:
    """Return students with the ids of an earlier Canvas list that the new list leaves out."""
    names = ("canvas_id", "sis_user_id", "sis_login_id", "section")
    return {
        key: replace(one, **{name: getattr(one, name) or getattr(before[key], name) for name in names})
        if key in before
        else one
        for key, one in students.items()
    }


def strangers(rows: Iterable[Row], roster: Mapping[str, Student]) -> list[str]:
    """Return the students who handed in something and are not on the roster; none where there is no roster."""
    return sorted({row.student for row in rows} - set(roster)) if roster else []


def by_another_number(folder: str, roster: Mapping[str, Student]) -> tuple[str, str]:
    """Return the column of Canvas' gradebook that names a student by this folder, and the student; "" if none does."""
    names = {"ID": "canvas_id", "SIS User ID": "sis_user_id", "SIS Login ID": "sis_login_id"}
    for column, field in names.items():
        for student in roster.values():
            if getattr(student, field) == folder:
                return column, student.student
    return "", ""


def _from_canvas(line: Mapping[str, str], id_column: str) -> Student:
    columns = [id_column] if id_column else CANVAS_IDS
    chosen = next((line[column] for column in columns if line.get(column)), "")
    return Student(
        chosen,
        line["Student"],
        line.get("Email", ""),
        line.get("Section", ""),
        line.get("ID", ""),
        line.get("SIS User ID", ""),
        line.get("SIS Login ID", ""),
    )


def _is_student(line: Mapping[str, str]) -> bool:
    """Return whether a line of Canvas' gradebook is a student's, not the points possible or the test student."""
    name = line.get("Student", "")
    return bool(name) and "Points Possible" not in name and name not in ("Student, Test", "Test Student")


def _from_list(line: Mapping[str, str], plain: Mapping[str, str], column: str) -> Student:
    def cell(names: Sequence[str]) -> str:
        found = _column(plain, names)
        return line.get(found, "") if found else ""

    name = cell(NAME) or " ".join(part for part in (cell(FIRST), cell(LAST)) if part)
    return Student(line.get(column, "").removeprefix(MOODLE_PREFIX), name, cell(EMAIL), cell(SECTION))


def _column(plain: Mapping[str, str], names: Sequence[str]) -> str:
    return next((column for name in names for column, found in plain.items() if found == name), "")


def _by_id(path: Path, students: Iterable[Student]) -> dict[str, Student]:
    found: dict[str, Student] = {}
    for student in students:
        if not student.student or PARTS_OF_PATHS.search(student.student) or student.student.startswith("."):
            who = student.name or "a line"
            raise ClassroomError(
                f"{path}: {who} has the id {student.student!r}, which cannot name a folder. Correct it."
            )
        if student.student in found:
            raise ClassroomError(
                f"{path}: two students have the id {student.student!r}. Correct one, or use --id COLUMN."
            )
        found[student.student] = student
    return found
