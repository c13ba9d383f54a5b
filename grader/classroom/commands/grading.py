"""Grade every submission of a class: run them in parallel, write from one thread, give each a row."""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import nbformat

from grader.classroom.base.configuration import read_configuration
from grader.classroom.base.errors import ClassroomError, explained_errors, stopping_error
from grader.classroom.base.progress import Progress
from grader.classroom.base.row import UNREADABLE, Row, read_rows
from grader.classroom.base.storage import only_run, remove_stale_parts, require_space, write_text
from grader.classroom.gradebook.course import STAGED, Course
from grader.classroom.gradebook.deadlines import EXTENSIONS, read_extensions, strange_extensions
from grader.classroom.gradebook.steps import RunCells, fingerprint, notebook_of, unreadable_notebook
from grader.classroom.handed_in.intake import Submission, find_submissions, left_out
from grader.classroom.handed_in.received import stamp
from grader.classroom.jobs.pool import Prepared, Run, Runner, here, run_all
from grader.classroom.jobs.results import Results
from grader.classroom.jobs.seeds import classroom_secret
from grader.classroom.lesson.master import checks_of, chosen_lessons, lessons_of, master_path, read_notebook
from grader.classroom.marks.by_hand import carry_by_hand
from grader.classroom.marks.report import write_report
from grader.classroom.marks.rows import changed_marks, failed_row, graded_row, kept_if_failed
from grader.classroom.running.worker_process import CannotRun

from .folder import bring_up_to_date

Say = Callable[[Row, str, list[str]], None]


@dataclass(frozen=True)
class Grading:
    """The result of grading a class.

    Attributes:
        rows: One row per submission, by lesson and student.
        left_out: What belongs to no student or no lesson, in `submitted` and in `extensions.csv`.
        changes: Lines that name each mark that changed although its submission did not.
    """

    rows: list[Row]
    left_out: list[str]
    changes: list[str]

    @property
    def kept_line(self) -> str:
        """Return how many runs were reused; "" if none was."""
        runs = [row for row in self.rows if row.status != UNREADABLE]
        kept = sum(row.reused for row in runs)
        return f"{kept} of {len(runs)} runs were kept from before" if kept else ""


def grade_class(
    classroom: Path,
    lessons: Sequence[str] = (),
    *,
    runner: Runner | None = None,
    jobs: int = 1,
    settings: dict[str, int | bool | str] | None = None,
    is_again: bool = False,
    with_feedback: bool = True,
    say: Say = lambda row, progress, changes: None,
) -> Grading:
    """Grade every submission of a classroom and write marks, report, gradebook and feedback.

    Args:
        classroom: The folder that `make_classroom` made.
        lessons: Names or numbers; empty for all.
        runner: Where the notebooks run; this machine if left out.
        jobs: How many submissions run at once on this machine.
        settings: Settings of the step RunCells that replace those of nbgrader_config.py, e.g. `cell_seconds`.
        is_again: Whether to run everything, even where an earlier grading kept the run.
        with_feedback: Whether to write the HTML pages.
        say: Called with each finished row, the progress of the grading, and how the row's marks changed.

    Returns:
        The rows. A submission never raises; it gets a row with its reason.

    Raises:
        ClassroomError: if the gradebook is locked, the disk is full, or no kernel can be started.
    """
    classroom = classroom.resolve()
    read_configuration(classroom)  # before anything is written there
    runner = runner or here(jobs)
    with explained_errors(classroom), only_run(classroom):
        remove_stale_parts(classroom)
        course = bring_up_to_date(classroom)
        for name, value in (settings or {}).items():
            course.config.RunCells[name] = value
        results = Results(classroom, runner.device, is_again=is_again)
        chosen = chosen_lessons(lessons, lessons_of(classroom))
        with _kept_off_the_screen(course.log):
            return _grade(course, chosen, runner, results, with_feedback, say)


@contextlib.contextmanager
def _kept_off_the_screen(log: logging.Logger) -> Iterator[None]:
    """Send nbgrader's messages about failed writes to the classroom's log; the error itself is still raised."""
    logger = logging.getLogger("tornado.application")  # the one that nbgrader's gradebook writes to
    handlers, propagate = logger.handlers, logger.propagate
    logger.handlers, logger.propagate = log.handlers, False
    try:
        yield
    finally:
        logger.handlers, logger.propagate = handlers, propagate


def _grade(
    course: Course, lessons: list[str], runner: Runner, results: Results, with_feedback: bool, say: Say
) -> Grading:
    classroom = course.classroom
    submitted = classroom / "submitted"
    earlier = read_rows(classroom)
    read_extensions(classroom / EXTENSIONS)  # a damaged table stops the command before grading, not in the middle
    classroom_secret(classroom)
    shutil.rmtree(classroom / STAGED, ignore_errors=True)
    submissions = [found for lesson in lessons for found in find_submissions(submitted, lesson)]
    received = stamp(classroom, submissions)
    rows: list[Row] = []
    changes: list[str] = []
    progress = Progress(len(submissions))
    make_job = RunCells(config=course.config).job
    try:
        for prepared, run in run_all(submissions, partial(_prepared, course), make_job, runner, results):
            row = carry_by_hand(earlier, kept_if_failed(earlier, _row_of(course, prepared, run)))
            rows.append(replace(row, received=received[row.student, row.lesson, row.digest]))
            changes += (changed := changed_marks(earlier, row))
            say(rows[-1], progress.next_done(), changed)
        rows = _with_feedback(course, rows) if with_feedback else rows
    finally:  # an interrupted grading keeps what it has
        is_whole = len(rows) == len(submissions)
        _write(classroom, rows, earlier, lessons if is_whole else [])
        shutil.rmtree(classroom / STAGED, ignore_errors=True)
    results.prune(lessons_of(classroom))
    rows.sort(key=lambda row: (row.lesson, row.student))
    outside = [*left_out(submitted, lessons_of(classroom)), *strange_extensions(classroom)]
    return Grading(rows, outside, changes)


def _write(classroom: Path, rows: list[Row], earlier: list[Row], whole_lessons: Sequence[str]) -> None:
    """Write the report; keep earlier rows, except those replaced and those of lessons graded as a whole."""
    done = {(row.student, row.lesson) for row in rows}
    kept = [row for row in earlier if row.lesson not in whole_lessons and (row.student, row.lesson) not in done]
    write_report(classroom, kept + rows)


def _prepared(course: Course, submission: Submission) -> Prepared:
    """Rebuild one submission, and stage it in a folder with no other file of the student's."""
    reason = submission.unreadable
    notebook = unreadable_notebook(reason) if reason else notebook_of(submission.cells)
    try:
        text = course.sanitized(submission.lesson, submission.student, notebook)
    except ClassroomError:
        raise
    except Exception as error:
        return Prepared(submission, error=error)
    write_text(course.staged(submission.lesson, submission.student), text)
    return Prepared(submission, None if reason else nbformat.reads(text, as_version=4))


def _row_of(course: Course, prepared: Prepared, run: Future[Run]) -> Row:
    """Write one submission to the gradebook and return its row; an error of its own is its row's reason."""
    submission = prepared.submission
    try:
        done = run.result()
        executions = {} if prepared.notebook is None else {fingerprint(prepared.notebook): done.execution}
        result = course.autograde(submission.lesson, submission.student, executions)
        return replace(graded_row(submission, result), reused=done.is_reused)
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
    if not all(names):  # nbgrader only logs why a page could not be made
        require_space(course.classroom)
    return [replace(row, feedback=name) for row, name in zip(rows, names, strict=True)]
