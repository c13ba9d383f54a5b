"""When lessons are due: kept in nbgrader's gradebook, where formgrader shows and sets the same times."""

from __future__ import annotations

import datetime
from pathlib import Path

from grader.classroom.base.errors import ClassroomError, told_errors
from grader.classroom.base.storage import only_run
from grader.classroom.commands.folder import chosen_lessons, open_course
from grader.classroom.handed_in.received import parsed_time
from grader.classroom.lesson.master import lessons_of

NEVER = "never"
FIRST_YEAR = 2000  # an earlier one is a slip of the pen


def due_times(classroom: Path) -> dict[str, datetime.datetime | None]:
    """Return when each lesson of a classroom is due, in UTC; None for one that never is."""
    from nbgrader.api import Gradebook

    url = open_course(classroom).directory("*").db_url
    with told_errors(classroom), Gradebook(url) as book:
        times = {found.name: found.duedate for found in book.assignments}
    due = {lesson: times.get(lesson) for lesson in lessons_of(classroom)}
    return {lesson: time and time.replace(tzinfo=datetime.UTC) for lesson, time in due.items()}


def set_due(classroom: Path, lesson: str, text: str) -> None:
    """Set when a lesson is due.

    Args:
        classroom: The folder.
        lesson: The lesson's name or number. `nbgrader db assignment add` would add one that there is not.
        text: A day and a time by ISO 8601, UTC where they name no zone; or "never".

    Raises:
        ClassroomError: if there is no such lesson or time, or the gradebook cannot be written.
    """
    from nbgrader.api import Gradebook

    course = open_course(classroom)
    lesson = chosen_lessons([lesson], lessons_of(classroom))[0]
    time = None if text.lower() == NEVER else _time(text, lesson)
    with only_run(classroom):
        course.check_gradebook()
        with told_errors(classroom), Gradebook(course.directory("*").db_url) as book:
            book.update_or_create_assignment(lesson, duedate=time)


def _time(text: str, lesson: str) -> datetime.datetime:
    if ":" not in text:  # a day alone would be its first moment
        raise ClassroomError(f'Say on which day and at what time {lesson} is due, as "2026-03-15 17:00", or: {NEVER}.')
    time = parsed_time(text, lesson)
    if time.year < FIRST_YEAR:
        raise ClassroomError(f"{lesson}: {text!r} lies in the year {time.year}. Write all four digits of the year.")
    return time
