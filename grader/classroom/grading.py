"""Grade every submission of a class: runs side by side, one writer, a row for each."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from .configuration import read_configuration
from .errors import ClassroomError, stopping_error
from .execution import CannotRun, Execution
from .folder import bring_up_to_date, chosen_lessons
from .gradebook import STAGED, Course
from .intake import find_submissions, left_out
from .master import checks_of, lessons_of, master_path, read_notebook
from .report import Row, read_rows, write_report
from .rows import failed_row, graded_row
from .runs import Prepared, prepare, run_all
from .seeds import classroom_secret
from .steps import fingerprint
from .storage import only_run

Say = Callable[[Row], None]


@dataclass(frozen=True)
class Grading:
    """What one call graded.

    Attributes:
        rows: One row per submission, by lesson and student.
        left_out: What lies in `submitted` and belongs to no student or no lesson.
    """

    rows: list[Row]
    left_out: list[str]


def grade_class(
    classroom: Path,
    lessons: Sequence[str] = (),
    *,
    jobs: int = 1,
    settings: dict[str, int | bool | str] | None = None,
    with_feedback: bool = True,
    say: Say = lambda row: None,
) -> Grading:
    """Grade every submission of a classroom and write marks, report, gradebook and feedback.

    Args:
        classroom: The folder that `make_classroom` made.
        lessons: Names or numbers; empty for all.
        jobs: How many submissions run at once.
        settings: Settings of the step RunCells that replace those of nbgrader_config.py, e.g. `cell_seconds`.
        with_feedback: Whether to write the HTML pages.
        say: Called with each row as soon as it stands.

    Returns:
        The rows. A submission never raises; it gets a row with its reason.

    Raises:
        ClassroomError: if the gradebook is locked, the disk is full, or no kernel can be started.
    """
    classroom = classroom.resolve()
    read_configuration(classroom)  # before anything is written there
    try:
        with only_run(classroom):
            course = bring_up_to_date(classroom)
            for name, value in (settings or {}).items():
                course.config.RunCells[name] = value
            return _grade(course, chosen_lessons(lessons, lessons_of(classroom)), jobs, with_feedback, say)
    except OSError as error:
        raise stopping_error(error, classroom) or error from error


def _grade(course: Course, lessons: list[str], jobs: int, with_feedback: bool, say: Say) -> Grading:
    classroom = course.classroom
    submitted = classroom / "submitted"
    earlier = read_rows(classroom)
    classroom_secret(classroom)
    shutil.rmtree(classroom / STAGED, ignore_errors=True)
    submissions = [found for lesson in lessons for found in find_submissions(submitted, lesson)]
    rows: list[Row] = []
    try:
        ready = [prepare(course, submission) for submission in submissions]
        for prepared, run in run_all(course, ready, jobs):
            row = _row_of(course, prepared, run)
            rows.append(replace(row, received=_received(row, earlier)))
            say(rows[-1])
        rows = _with_feedback(course, rows) if with_feedback else rows
    finally:  # an interrupted grading keeps what it has
        is_whole = len(rows) == len(submissions)
        _write(classroom, rows, earlier, lessons if is_whole else [])
        shutil.rmtree(classroom / STAGED, ignore_errors=True)
    rows.sort(key=lambda row: (row.lesson, row.student))
    return Grading(rows, left_out(submitted, lessons_of(classroom)))


def _write(classroom: Path, rows: list[Row], earlier: list[Row], whole_lessons: Sequence[str]) -> None:
    """Write the report; earlier rows stay, but those replaced, and those of lessons that were graded as a whole."""
    done = {(row.student, row.lesson) for row in rows}
    kept = [row for row in earlier if row.lesson not in whole_lessons and (row.student, row.lesson) not in done]
    write_report(classroom, kept + rows)


def _row_of(course: Course, prepared: Prepared, run: Future[Execution]) -> Row:
    """Write one submission to the gradebook and return its row; an error of its own is its row's reason."""
    submission = prepared.submission
    try:
        execution = run.result()
        executions = {} if prepared.notebook is None else {fingerprint(prepared.notebook): execution}
        result = course.autograde(submission.lesson, submission.student, executions)
        return graded_row(submission, result)
    except CannotRun as error:
        raise ClassroomError(
            f"No kernel could be started for {submission.student}: {error}. "
            "Check that `jupyter kernelspec list` shows the kernel that the master names, then grade again."
        ) from error
    except ClassroomError:
        raise
    except Exception as error:
        stop = stopping_error(error, course.classroom)
        if stop is not None:
            raise stop from error
        course.log.exception("grading %s of %s failed", submission.lesson, submission.student)
        master = read_notebook(master_path(course.classroom, submission.lesson))
        return failed_row(submission, checks_of(master), error)


def _with_feedback(course: Course, rows: Sequence[Row]) -> list[Row]:
    """Write the pages of all lessons that were graded, and name each in its row."""
    for lesson in sorted({row.lesson for row in rows}):
        course.feedback(lesson)
    pages = [course.feedback_page(row.lesson, row.student) for row in rows]
    names = [str(page.relative_to(course.classroom)) if page.is_file() else "" for page in pages]
    return [replace(row, feedback=name) for row, name in zip(rows, names, strict=True)]


def _received(row: Row, earlier: Sequence[Row]) -> str:
    """Return when these very bytes were first seen; what a submission says of its own time is not read."""
    for old in earlier:
        if (old.student, old.lesson, old.digest) == (row.student, row.lesson, row.digest) and row.digest:
            return old.received
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
