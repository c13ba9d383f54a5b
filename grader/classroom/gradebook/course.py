"""Drive nbgrader's gradebook and converters, one submission at a time."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import logging
import os
import shutil
import sqlite3
import sysconfig
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.exc import SAWarning

from grader.classroom.base.configuration import read_configuration
from grader.classroom.base.errors import ClassroomError, explained_errors
from grader.classroom.base.storage import STATE, write_text
from grader.classroom.lesson.master import master_path
from grader.classroom.running.execution import Execution

from .converter import CheckMetadataOnce, ClassAutograde, ClassFeedback, register_steps
from .steps import Scored, SubmissionExporter
from .transactions import OpenGradebook

STAGED = f"{STATE}/submitted"
LOCK_SECONDS = 5


class Course:
    """A classroom as nbgrader sees it."""

    def __init__(self, classroom: Path, config: Any, log: logging.Logger):
        self.classroom = classroom
        self.config = config
        self.log = log
        self._gradebook: OpenGradebook | None = None
        self._check = CheckMetadataOnce(config=config, log=log)
        _put_scripts_on_path()

    def directory(self, lesson: str, student: str = "*", *, staged: bool = True) -> Any:
        """Return nbgrader's view of the folders, for one lesson and one student."""
        directory = CourseDirectory(config=self.config, log=self.log)
        directory.root = str(self.classroom)
        directory.assignment_id = lesson
        directory.student_id = student if student == "*" else glob.escape(student)
        if staged:
            directory.submitted_directory = STAGED
        return directory

    def release(self, lesson: str) -> bool:
        """Make the students' version and the gradebook's record of a lesson, where the master has changed since.

        Raises:
            ClassroomError: if nbgrader refuses the master.
        """
        digest = hashlib.sha256(master_path(self.classroom, lesson).read_bytes()).hexdigest()
        mark = self.classroom / STATE / "released" / lesson
        released = self.classroom / "release" / lesson / f"{lesson}.ipynb"
        if mark.is_file() and mark.read_text() == digest and released.is_file() and self._gradebook_exists():
            return False
        converter = GenerateAssignment(self.directory(lesson, staged=False), config=self.config, log=self.log)
        converter.force = True
        with self._messages() as messages, self._stopping():
            try:
                converter.start()
            except NbGraderException as error:
                raise _refused(lesson, messages, error, self.classroom) from error
        write_text(mark, digest)
        return True

    def sanitized(self, lesson: str, student: str, notebook: NotebookNode) -> str:
        """Return what nbgrader's first list of steps makes of a submission, without writing anything."""
        names = {"student": student, "assignment": lesson, "notebook": lesson}
        metadata = {"name": lesson, "path": str(self.staged(lesson, student).parent)}
        resources = {"nbgrader": names | {"db_url": self.directory(lesson).db_url}, "metadata": metadata}
        exporter = SubmissionExporter(config=self.config)
        steps = Autograde(self.directory(lesson), config=self.config, log=self.log).sanitize_preprocessors
        register_steps(exporter, steps, self._check)
        with self._open().transaction():
            output, _ = exporter.from_notebook_node(notebook, resources=resources)
        return str(output)

    def staged(self, lesson: str, student: str) -> Path:
        """Return where nbgrader finds a submission, apart from all that the learner handed in."""
        return self.classroom / STAGED / student / lesson / f"{lesson}.ipynb"

    def autograde(self, lesson: str, student: str, executions: Mapping[str, Execution]) -> Scored:
        """Write one staged submission's points to the gradebook; nbgrader's first list of steps has seen it.

        Raises:
            ClassroomError: if the gradebook or the disk cannot be written.
            Exception: whatever else went wrong for this submission alone.
        """
        converter = ClassAutograde(self.directory(lesson, student), config=self.config, log=self.log)
        converter.force, converter.executions, converter.check = True, executions, self._check
        with self._stopping(), self._open().transaction():
            try:
                converter.start()
            except NbGraderException as error:
                raise converter.failure or error from error
        if converter.result is None:
            raise NbGraderException("nbgrader gave no scores: see the steps listed in nbgrader_config.py")
        return converter.result

    def feedback(self, lesson: str, student: str = "*") -> None:
        """Write the HTML pages of a lesson; a page that cannot be made is logged and left out."""
        converter = ClassFeedback(self.directory(lesson, student), config=self.config, log=self.log)
        converter.force = True
        with self._stopping(), self._open().transaction(), contextlib.suppress(NbGraderException):
            converter.start()

    def feedback_page(self, lesson: str, student: str) -> Path:
        """Return where the HTML page of one submission is."""
        directory = self.directory(lesson)
        return Path(directory.format_path(directory.feedback_directory, student, lesson)) / f"{lesson}.html"

    def check_gradebook(self) -> None:
        """Refuse to start on a gradebook that cannot be written.

        Raises:
            ClassroomError: if it is locked, broken or the disk is full.
        """
        path = self.classroom / "gradebook.db"
        if path.exists():
            with self._stopping(), contextlib.closing(sqlite3.connect(path, timeout=LOCK_SECONDS)) as database:
                database.execute("BEGIN IMMEDIATE")
                database.rollback()

    def check_settings(self) -> None:
        """Refuse settings for late work that cannot be used, before anything is graded.

        Raises:
            ClassroomError: naming what is wrong in them.
        """
        with explained_errors(self.classroom):
            AssignLatePenalties(config=self.config, log=self.log).init_plugin()

    def _open(self) -> OpenGradebook:
        if self._gradebook is None:
            directory = self.directory("*")
            self._gradebook = OpenGradebook(directory.db_url, directory.course_id)
        return self._gradebook

    def _gradebook_exists(self) -> bool:
        return (self.classroom / "gradebook.db").exists() or "db_url" in self.config.CourseDirectory

    @contextlib.contextmanager
    def _stopping(self) -> Iterator[None]:
        """Raise errors that stop the class as such; suppress a known warning of nbgrader's own queries."""
        with explained_errors(self.classroom), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Object of type .* not in session", category=SAWarning)
            yield

    @contextlib.contextmanager
    def _messages(self) -> Iterator[list[str]]:
        messages: list[str] = []
        handler = logging.Handler(logging.WARNING)
        handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
        self.log.addHandler(handler)
        try:
            yield messages
        finally:
            self.log.removeHandler(handler)


def _put_scripts_on_path() -> None:
    """Let nbgrader find `alembic`, which it calls by name, even if the environment is not activated."""
    if shutil.which("alembic") is None:
        os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])


def _refused(lesson: str, messages: list[str], error: Exception, classroom: Path) -> ClassroomError:
    text = "\n".join(messages)
    if "Cannot add or remove cells" in text:
        return ClassroomError(
            f"{lesson}: cells were added or removed in source/{lesson} after grading began, which nbgrader refuses. "
            f"Undo that; or run `nbgrader db assignment remove {lesson} --force` in {classroom}, "
            "which forgets its grades, and grade again."
        )
    reason = next((line.strip() for line in reversed(text.splitlines()) if "Error" in line), str(error))
    return ClassroomError(f"{lesson}: nbgrader cannot make the release from source/{lesson}/{lesson}.ipynb: {reason}")


def open_course(classroom: Path) -> Course:
    """Open a classroom; nbgrader's messages go to a log file in it.

    Raises:
        ClassroomError: if the folder is none.
    """
    config = read_configuration(classroom)
    from grader.classroom.gradebook.course import Course

    log = logging.getLogger(f"{__name__}.{abs(hash(classroom.resolve()))}")
    log.setLevel(logging.INFO)
    log.propagate = False
    for handler in list(log.handlers):
        log.removeHandler(handler)
        handler.close()
    path = classroom / STATE / "nbgrader.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, mode="w", delay=True, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    handler.handleError = lambda record: None  # type: ignore[method-assign]  # a full disk is reported elsewhere, once
    log.addHandler(handler)
    return Course(classroom.resolve(), config, log)
