"""Rebuild the submissions of a class and run them side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import nbformat
from nbformat.notebooknode import NotebookNode

from .errors import ClassroomError
from .execution import Execution
from .gradebook import Course
from .intake import Submission
from .steps import NOT_RUN, RunCells, fingerprint, notebook_of, unreadable_notebook
from .storage import write_text


@dataclass(frozen=True)
class Prepared:
    """A submission that is ready to run.

    Attributes:
        submission: What was handed in.
        notebook: The rebuilt notebook; None if there is none to run.
        error: What went wrong while it was rebuilt, or None.
    """

    submission: Submission
    notebook: NotebookNode | None = None
    error: Exception | None = None


def prepare(course: Course, submission: Submission) -> Prepared:
    """Rebuild one submission, and stage it where nothing else of the learner's lies."""
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


def run_all(course: Course, ready: Sequence[Prepared], jobs: int) -> Iterator[tuple[Prepared, Future[Execution]]]:
    """Run the submissions side by side and yield each when its run ends; only the caller writes to the gradebook.

    Submissions that are equal once they are rebuilt, as untouched ones are, share one run.
    """
    step = RunCells(config=course.config)
    equal: dict[str, list[Prepared]] = {}
    for number, prepared in enumerate(ready):
        notebook = prepared.notebook
        equal.setdefault(str(number) if notebook is None else fingerprint(notebook), []).append(prepared)
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        runs = {pool.submit(_run, step, group[0]): group for group in equal.values()}
        try:
            for run in as_completed(runs):
                for prepared in runs[run]:
                    yield prepared, run
        finally:
            pool.shutdown(cancel_futures=True)


def _run(step: RunCells, prepared: Prepared) -> Execution:
    if prepared.error is not None:
        raise prepared.error
    if prepared.notebook is None:
        return Execution(end=NOT_RUN, reason=prepared.submission.unreadable)
    return step.execute(prepared.notebook, prepared.submission.lesson)
