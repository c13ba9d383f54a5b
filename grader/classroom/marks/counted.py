"""Decide which checks make up the mark: the core ones, or those chosen in `counted.csv`."""

from __future__ import annotations

from pathlib import Path

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import CORE, FURTHER
from grader.classroom.base.tables import read_table, require_columns
from grader.classroom.lesson.master import Check, checks_of, chosen_lessons, lessons_of, master_path, read_notebook

FILE = "counted.csv"
YES, NO = {"yes", "true", "1", "x", CORE}, {"no", "false", "0", FURTHER}
Parts = dict[tuple[str, str], str]  # (lesson, check) -> "core" or "further"


def counted_parts(classroom: Path) -> Parts:
    """Return the part of every check of a classroom: core ones make the mark, further ones do not.

    A check that does not count is a further one, and a further one that counts is core, in all that is written.

    Raises:
        ClassroomError: if `counted.csv` names an unknown lesson or check; the message lists the known ones.
    """
    checks = {lesson: checks_of(read_notebook(master_path(classroom, lesson))) for lesson in lessons_of(classroom)}
    parts = {(lesson, check.name): check.part for lesson, found in checks.items() for check in found}
    path = classroom / FILE
    if not path.exists():
        return parts
    header, lines = read_table(path)
    require_columns(path, header, ("lesson", "check", "counts"))
    for line in lines:
        try:
            lesson = chosen_lessons([line.get("lesson", "")], list(checks))[0]
        except ClassroomError as error:
            raise ClassroomError(f"{path}: {error}") from None
        part = _part(path, line.get("counts", ""))
        for check in _named(path, line.get("check", ""), lesson, checks[lesson]):
            parts[lesson, check.name] = part
    return parts


def _part(path: Path, word: str) -> str:
    if word.lower() in YES:
        return CORE
    if word.lower() in NO:
        return FURTHER
    raise ClassroomError(f'{path}: the column counts says {word!r}. Write "yes" or "no".')


def _named(path: Path, name: str, lesson: str, checks: list[Check]) -> list[Check]:
    """Return the check of this name, or all checks of the exercise of this name."""
    found = [check for check in checks if name in (check.name, check.exercise)] if name else []
    if not found:
        known = ", ".join(f"{check.name} ({check.exercise})" for check in checks)
        raise ClassroomError(f"{path}: {lesson} has no check and no exercise {name!r}. There are: {known}.")
    return found
