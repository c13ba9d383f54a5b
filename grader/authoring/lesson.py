"""Read a lesson and build its notebooks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode

from .calls import called_exercise
from .errors import BuildError
from .leaks import leak_problems
from .notebook import assemble, clear_solutions, lock_and_sign
from .repository import repository_address
from .rules import structure_problems
from .source import SourceCell, read_source

TITLE = re.compile(r"^# (?:\d+\. )?(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """One check cell of a lesson.

    Attributes:
        name: The check function that the cell calls; nbgrader's grade_id.
        exercise: The exercise that it belongs to.
        points: What a pass earns.
        is_further: Whether it is in the section Further, outside the core mark.
    """

    name: str
    exercise: str
    points: int
    is_further: bool


@dataclass(frozen=True)
class Lesson:
    """A lesson whose source keeps the rules of structure.

    Attributes:
        path: The source.
        title: The heading of the first cell, without its number.
        cells: The cells of the source, solved.
        checks: The checks in order.
    """

    path: Path
    title: str
    cells: tuple[SourceCell, ...]
    checks: tuple[Check, ...]

    @property
    def stem(self) -> str:
        """The name that the lesson has in every folder, for example "02_gradient_accumulation"."""
        return self.path.stem

    @property
    def exercises(self) -> tuple[str, ...]:
        """The exercises in order."""
        return tuple(cell.exercise for cell in self.cells if cell.exercise)

    def cell_of(self, exercise: str) -> SourceCell:
        """Return the cell of one exercise."""
        return next(cell for cell in self.cells if cell.exercise == exercise)

    def checks_of(self, exercise: str) -> tuple[Check, ...]:
        """The checks of one exercise in order."""
        return tuple(check for check in self.checks if check.exercise == exercise)


def read_lesson(source_path: Path) -> Lesson:
    """Read a source and reject it if its structure is wrong.

    Args:
        source_path: `solutions/NN_topic.py`, or a source elsewhere.

    Returns:
        The lesson.

    Raises:
        BuildError: with every fault of structure in the file.
    """
    cells = read_source(source_path)
    problems = structure_problems(source_path, cells)
    if problems:
        raise BuildError(problems)
    heading = TITLE.search(cells[0].source)
    title = heading.group(1).strip() if heading else source_path.stem
    return Lesson(source_path, title, tuple(cells), tuple(_checks(cells)))


def _checks(cells: list[SourceCell]) -> list[Check]:
    checks, is_further = [], False
    for cell in cells:
        is_further = is_further or "further" in cell.tags
        if cell.check:
            checks.append(Check(cell.check, called_exercise(cell.source), cell.keys["points"], is_further))
    return checks


def build_master(source_path: Path) -> NotebookNode:
    """Build the solved notebook that a class is graded from.

    It has nbgrader's metadata with checksums, the identity lines and the Colab header. Cells stay unlocked, so that an
    instructor can edit them; nbgrader locks them when it generates the release.

    Args:
        source_path: `solutions/NN_topic.py`.

    Returns:
        The notebook, without outputs.

    Raises:
        BuildError: with every fault of structure in the file.
    """
    lesson = read_lesson(source_path)
    return lock_and_sign(_assembled(lesson), is_locked=False)


def build_assignment(source_path: Path) -> NotebookNode:
    """Build the solved notebook of an assignment that is no lesson: as `build_master`, without the header for Colab.

    Args:
        source_path: A source; its structure is that of a lesson.

    Returns:
        The notebook, without outputs.

    Raises:
        BuildError: with every fault of structure in the file.
    """
    lesson = read_lesson(source_path)
    return lock_and_sign(assemble(lesson.stem, lesson.cells, None), is_locked=False)


def build_release(source_path: Path) -> NotebookNode:
    """Build the notebook that students get: answers removed, cells locked, checksums computed.

    Args:
        source_path: `solutions/NN_topic.py`.

    Returns:
        The notebook, without outputs.

    Raises:
        BuildError: with every fault of structure in the file, or where text of a solution would reach students.
    """
    lesson = read_lesson(source_path)
    released = lock_and_sign(clear_solutions(_assembled(lesson)), is_locked=True)
    problems = leak_problems(lesson.path, lesson.cells, released)
    if problems:
        raise BuildError(problems)
    return released


def _assembled(lesson: Lesson) -> NotebookNode:
    return assemble(lesson.stem, lesson.cells, repository_address(lesson.path))


def lesson_points(source_path: Path) -> list[dict[str, Any]]:
    """List the checks of a lesson, in order.

    Args:
        source_path: `solutions/NN_topic.py`.

    Returns:
        For each check its "check", "exercise", "points" and "is_further", as `grader/lessons.json` has them.

    Raises:
        BuildError: with every fault of structure in the file.
    """
    return [
        {"check": check.name, "exercise": check.exercise, "points": check.points, "is_further": check.is_further}
        for check in read_lesson(source_path).checks
    ]
