"""Read the master notebook of a lesson: its cells, its checks, its points."""

from __future__ import annotations

import ast
import copy
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import CORE, FURTHER
from grader.classroom.base.storage import one_line
from grader.registry import is_check

FURTHER_TAG = "further"  # of the cell after which checks do not count for the mark
NEEDS_LOOPBACK = "needs-loopback"  # the tag of a check with several ranks
CHECK_LINE = re.compile(r"^\s*#\s*check:\s*(\w+)")
ANY_NUMBER = 10**6
ALWAYS_SHOWN = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Name)  # a call may well return None, which shows nothing


@dataclass(frozen=True)
class Check:
    """One graded cell of a lesson.

    Attributes:
        name: nbgrader's grade_id.
        exercise: The exercise that it belongs to, or "".
        points: The most that it gives.
        is_further: Whether it is outside the core mark.
        announces_pass: Whether a pass prints a line that begins with "passed: ", as the course's own checks do.
        is_manual: Whether a person gives the points.
        is_judged: Whether it is judged outside the kernel, from what it emits.
        results: The fewest and the most results that its cell shows.
        needs_loopback: Whether it runs only where a sandbox has a network of one machine.
    """

    name: str
    exercise: str
    points: float
    is_further: bool
    announces_pass: bool
    is_manual: bool
    is_judged: bool = False
    needs_loopback: bool = False
    results: tuple[int, int] = (0, ANY_NUMBER)

    @property
    def part(self) -> str:
        """Return the part of the lesson that it belongs to, unless `counted.csv` says otherwise."""
        return FURTHER if self.is_further else CORE


def master_path(classroom: Path, lesson: str, notebook: str = "") -> Path:
    """Return where a class keeps the master of a lesson; an instructor's own lesson may have several notebooks."""
    return classroom / "source" / lesson / f"{notebook or lesson}.ipynb"


def lessons_of(classroom: Path) -> list[str]:
    """Return the lessons of a classroom, in order."""
    return sorted(
        path.parent.name for path in (classroom / "source").glob("*/*.ipynb") if path.stem == path.parent.name
    )


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook of the classroom.

    Raises:
        ClassroomError: if it is no notebook.
    """
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:
        raise ClassroomError(
            f"{path} is no notebook ({one_line(str(error), 80)}). Restore it, or delete it and run `classroom` again."
        ) from None


def read_stub(path: Path) -> NotebookNode:
    """Return the master with its answers removed; the file is read again only if it has changed.

    Raises:
        ClassroomError: if it is no notebook.
    """
    status = path.stat() if path.is_file() else None
    return copy.deepcopy(_stub_of(path, (status.st_mtime_ns, status.st_size, status.st_ino) if status else None))


@functools.lru_cache(maxsize=64)
def _stub_of(path: Path, version: tuple[int, ...] | None) -> NotebookNode:
    return untouched(read_notebook(path))


def untouched(master: NotebookNode) -> NotebookNode:
    """Return a copy of the master with the answers removed, as nbgrader removes them."""
    from nbgrader.preprocessors import ClearSolutions

    cleared, _ = ClearSolutions().preprocess(copy.deepcopy(master), {})
    return cleared


def nbgrader_metadata(cell: NotebookNode) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell, {} if there is none."""
    return dict(cell.metadata.get("nbgrader", {}))


def is_answer(cell: NotebookNode) -> bool:
    """Return whether the learner writes in this cell."""
    metadata = nbgrader_metadata(cell)
    return bool(metadata.get("solution") or metadata.get("task"))


def is_graded(cell: NotebookNode) -> bool:
    """Return whether this cell gives points."""
    metadata = nbgrader_metadata(cell)
    return bool(metadata.get("grade") or metadata.get("task"))


def checks_of(master: NotebookNode) -> list[Check]:
    """Return the graded cells of a lesson, in order."""
    checks: list[Check] = []
    exercises: list[str] = []
    is_further = False
    for cell in master.cells:
        is_further = is_further or FURTHER_TAG in cell.metadata.get("tags", [])
        metadata = nbgrader_metadata(cell)
        if is_answer(cell):
            exercises.append(str(metadata["grade_id"]))
        if is_graded(cell):
            checks.append(
                Check(
                    name=str(metadata["grade_id"]),
                    exercise=_exercise_of(cell, exercises),
                    points=float(metadata.get("points", 0)),
                    is_further=is_further,
                    announces_pass=is_course_check(cell),
                    is_manual=is_answer(cell) or cell.cell_type != "code",
                    is_judged=judged_check(cell) is not None,
                    needs_loopback=needs_loopback(cell),
                    results=shown_results(str(cell.source)),
                )
            )
    return checks


def needs_loopback(cell: NotebookNode) -> bool:
    """Return whether a cell needs the network of one machine."""
    return NEEDS_LOOPBACK in cell.metadata.get("tags", [])


def is_course_check(cell: NotebookNode) -> bool:
    """Return whether a cell is a check of the course: its identity line, and one call of the function of that name."""
    line = CHECK_LINE.match(cell.source)
    call = _only_call(cell.source)
    return bool(line and call and isinstance(call.func, ast.Name) and call.func.id == line.group(1))


def judged_check(cell: NotebookNode) -> str | None:
    """Return the name of a graded check of the course that has a judge; None for any other cell."""
    line = CHECK_LINE.match(cell.source)
    is_judged = line and is_graded(cell) and is_course_check(cell) and is_check(line.group(1))
    return line.group(1) if line and is_judged else None


def _exercise_of(cell: NotebookNode, exercises: list[str]) -> str:
    """Return the exercise that the check's first argument names, else the nearest one above."""
    if is_answer(cell):
        return exercises[-1]
    call = _only_call(cell.source) if cell.cell_type == "code" else None
    first = call.args[0] if call and call.args else None
    if isinstance(first, ast.Name) and first.id in exercises:
        return first.id
    return exercises[-1] if exercises else ""


def _only_call(source: str) -> ast.Call | None:
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    if len(statements) == 1 and isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Call):
        return statements[0].value
    return None


def chosen_lessons(asked: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the lessons asked for, by name or by number such as "02"; all if none is.

    Raises:
        ClassroomError: if one is unknown.
    """
    chosen = []
    for name in asked:
        number = name.zfill(2)  # a spreadsheet makes 2 of 02
        found = [lesson for lesson in known if lesson == name or lesson.split("_")[0] == number]
        if not found:
            raise ClassroomError(f"There is no lesson {name!r}. There are: {', '.join(known) or 'none'}.")
        chosen += found
    return sorted(set(chosen)) if asked else list(known)


def shown_results(source: str) -> tuple[int, int]:
    """Return the fewest and the most results that a cell of the master shows when it runs to its end.

    IPython shows the last line; if a learner has set it so, every expression.
    """
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return 0, ANY_NUMBER
    loops = [node for node in ast.walk(ast.Module(statements, [])) if isinstance(node, ast.For | ast.While)]
    if any(isinstance(node, ast.Expr) for loop in loops for node in ast.walk(loop)):
        most = ANY_NUMBER
    else:
        most = sum(isinstance(node, ast.Expr) for node in ast.walk(ast.Module(statements, [])))
    last = statements[-1] if statements else None
    is_shown = isinstance(last, ast.Expr) and isinstance(last.value, ALWAYS_SHOWN) and not source.rstrip().endswith(";")
    return int(is_shown), most
