"""Set due dates and extensions, and take points off late work."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float, Integer

from grader.classroom.base.errors import ClassroomError, explained_errors
from grader.classroom.base.storage import only_run
from grader.classroom.base.tables import read_table, require_columns
from grader.classroom.handed_in.intake import find_submission, student_folders, student_of
from grader.classroom.handed_in.received import FILE, parsed_time, stamp
from grader.classroom.handed_in.roster import read_roster
from grader.classroom.lesson.master import chosen_lessons, lessons_of

from .course import open_course
from .steps import ClassroomStep

NEVER = "never"
FIRST_YEAR = 2000  # an earlier one is a typing error
EXTENSIONS = "extensions.csv"
DAY_SECONDS = 86_400
Resources = dict[str, Any]


def due_times(classroom: Path) -> dict[str, datetime.datetime | None]:
    """Return when each lesson of a classroom is due, in UTC; None for one that never is."""
    from nbgrader.api import Gradebook

    url = open_course(classroom).directory("*").db_url
    with explained_errors(classroom), Gradebook(url) as book:
        times = {found.name: found.duedate for found in book.assignments}
    due = {lesson: times.get(lesson) for lesson in lessons_of(classroom)}
    return {lesson: time and time.replace(tzinfo=datetime.UTC) for lesson, time in due.items()}


def set_due(classroom: Path, lesson: str, text: str) -> None:
    """Set when a lesson is due.

    Args:
        classroom: The folder.
        lesson: The lesson's name or number. Unlike `nbgrader db assignment add`, this adds no lesson.
        text: A day and a time by ISO 8601, UTC where they name no zone; or "never".

    Raises:
        ClassroomError: if the lesson does not exist, the time is invalid, or the gradebook cannot be written.
    """
    from nbgrader.api import Gradebook

    course = open_course(classroom)
    lesson = chosen_lessons([lesson], lessons_of(classroom))[0]
    time = None if text.lower() == NEVER else _time(text, lesson)
    with only_run(classroom):
        course.check_gradebook()
        with explained_errors(classroom), Gradebook(course.directory("*").db_url) as book:
            book.update_or_create_assignment(lesson, duedate=time)


def _time(text: str, lesson: str) -> datetime.datetime:
    if ":" not in text:  # a day alone would be its first moment
        raise ClassroomError(f'Say on which day and at what time {lesson} is due, as "2026-03-15 17:00", or: {NEVER}.')
    time = parsed_time(text, lesson)
    if time.year < FIRST_YEAR:
        raise ClassroomError(f"{lesson}: {text!r} is in the year {time.year}. Write all four digits of the year.")
    return time


class StampReceived(ClassroomStep):
    """Tell nbgrader when a submission was received and how long it was extended, before penalties are assigned.

    The time is the classroom's own. What a file of the submission says of its time is overwritten.
    """

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Set timestamp and extension of one submission."""
        names = resources["nbgrader"]
        student, lesson = names["student"], names["assignment"]
        folder = self.folder()
        found = find_submission(folder / "submitted", lesson, student)
        if found is not None:
            text = stamp(folder, [found])[student, lesson, found.digest]
            received = parsed_time(text, f"{folder / FILE}, {student}")
            with Gradebook(names["db_url"]) as gradebook:
                submission = gradebook.find_submission(lesson, student)
                submission.timestamp = received
                # without a due date nbgrader cannot add an extension
                if (folder / EXTENSIONS).exists() and submission.assignment.duedate is not None:
                    submission.extension = find_extension(folder / EXTENSIONS, student, lesson)
                gradebook.db.commit()
        return nb, resources


def find_extension(path: Path, student: str, lesson: str) -> datetime.timedelta | None:
    """Return what `extensions.csv` grants a student for a lesson."""
    return read_extensions(path).get((student, lesson))


def read_extensions(path: Path) -> dict[tuple[str, str], datetime.timedelta]:
    """Return what `extensions.csv` grants, by student and lesson: days, for a lesson by name or number.

    Raises:
        ClassroomError: if the table was damaged, names an unknown lesson, or contradicts itself.
    """
    if not path.exists():
        return {}
    header, lines = read_table(path)
    require_columns(path, header, ("student", "lesson", "days"))
    known, found = lessons_of(path.parent), {}
    for line in lines:
        student, days = line["student"], line.get("days", "")
        try:
            lesson = chosen_lessons([line.get("lesson", "")], known)[0]
        except ClassroomError as error:
            raise ClassroomError(f"{path}, {student}: {error}") from None
        if (student, lesson) in found:
            raise ClassroomError(f"{path}, {student}: two lines for {lesson}. Leave one of them.")
        found[student, lesson] = _days(days, f"{path}, {student}")
    return found


def _days(text: str, where: str) -> datetime.timedelta:
    try:
        granted = datetime.timedelta(days=float(text))
    except (ValueError, OverflowError):
        granted = datetime.timedelta(days=-1)
    if granted < datetime.timedelta():
        raise ClassroomError(f"{where}: {text!r} is not a number of days. Write it like 2.")
    return granted


def strange_extensions(classroom: Path) -> list[str]:
    """Return a line for each extension of somebody who handed in nothing and is not on the roster."""
    path = classroom / EXTENSIONS
    if not path.exists():
        return []
    known = {student_of(folder) for folder in student_folders(classroom / "submitted")} | set(read_roster(classroom))
    names = dict.fromkeys(line.get("student", "") for line in read_table(path)[1])
    return [
        f"{EXTENSIONS}, {name or 'no name'}: not on the roster, and handed in nothing. Is the name right?"
        for name in names
        if name not in known
    ]


class PercentPerDay(LateSubmissionPlugin):  # type: ignore[misc]  # nbgrader has no types
    """Take a percentage of the points for each day that begins, up to a most; off unless the settings choose it."""

    percent_per_day = Float(10.0, min=0.0, max=100.0, help="Percent of the points for each day begun.").tag(config=True)
    most_percent = Float(50.0, min=0.0, max=100.0, help="The most that is taken, in percent.").tag(config=True)
    grace_minutes = Integer(0, min=0, help="Minutes after the due date that cost nothing.").tag(config=True)

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """Return the points to take, None where it is not late enough."""
        if total_seconds_late <= 60 * self.grace_minutes:
            return None
        days = math.ceil(total_seconds_late / DAY_SECONDS)
        return float(score * min(self.most_percent, days * self.percent_per_day) / 100)
