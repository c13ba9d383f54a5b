"""Build the embedded class of lesson 02: submissions that are right, wrong or broken."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode

from grader.authoring.banks import WRONG, Entry, read_banks
from grader.authoring.lesson import read_lesson
from grader.classroom.base.configuration import FILE
from grader.classroom.base.errors import ClassroomError
from grader.classroom.lesson.master import checks_of, is_answer, master_path, nbgrader_metadata, read_notebook

from .folder import lesson_sources, make_classroom

LESSON = "02_gradient_accumulation"
SHOWN_FIRST = ("not_divided", "activations_whole", "means_added")  # where the bank has them, else by name
SHOWN_LAST = ("plain_baseline", "hard_coded", "copied_from_lesson", "library_shortcut")


def make_demo(classroom: Path) -> None:
    """Make the classroom of the demonstration from scratch, and hand in its submissions.

    Args:
        classroom: A new folder, or an earlier demonstration, which is replaced.

    Raises:
        ClassroomError: if the folder holds anything else.
    """
    if classroom.exists() and not (classroom / FILE).is_file():
        raise ClassroomError(f"{classroom} is no earlier demonstration. Name another folder, or delete it.")
    if (classroom / "submitted").is_dir() and not (classroom / "demo").exists():
        raise ClassroomError(f"{classroom} is a classroom of its own. Name another folder.")
    shutil.rmtree(classroom, ignore_errors=True)
    make_classroom(classroom, [LESSON])
    (classroom / "demo").write_text("`make demo` made this folder and replaces it.\n")
    for student, text in submissions(classroom).items():
        path = classroom / "submitted" / student / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")


def submissions(classroom: Path) -> dict[str, str]:
    """Return what each student hands in; the name says what is wrong with it."""
    release = read_notebook(classroom / "release" / LESSON / f"{LESSON}.ipynb")
    master = read_notebook(master_path(classroom, LESSON))
    solved = copy.deepcopy(release)
    for cell in _answers(solved):
        cell.source = next(other.source for other in _answers(master) if _name(other) == _name(cell))
    notebooks = {
        "solved": solved,
        "untouched": release,
        "copied_cells": _with_copied_cells(solved),
        "from_colab": _from_colab(solved),
        "deleted_check": _without_first_check(solved),
        "skip_execution_tags": _with_skip_tags(release),
        **dict(_wrong(solved)),
    }
    texts = {student: json.dumps(notebook) for student, notebook in notebooks.items()}
    return texts | {"upload_cut_off": texts["solved"][: len(texts["solved"]) // 2]}


def _wrong(solved: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """Yield one notebook per core exercise with a wrong answer to it, and one with two faults that any lesson knows."""
    exercises = list(dict.fromkeys(check.exercise for check in checks_of(solved) if not check.is_further))
    source = lesson_sources()[LESSON]
    banks = read_banks(source.parents[1], read_lesson(source))
    for bank in banks:
        if bank.kind == WRONG and bank.exercise in exercises and bank.entries:
            shown = min(bank.entries, key=_rank)
            yield f"wrong_{shown.name}", _answered(solved, bank.exercise, shown.source)
    nothing = f"def {exercises[0]}(*sizes):\n    return None\n"
    broken = f"def {exercises[-1]}(model, micro_batches)\n    return 0.0\n"
    yield "returns_none_and_syntax_error", _answered(_answered(solved, exercises[0], nothing), exercises[-1], broken)


def _rank(entry: Entry) -> tuple[bool, bool, str]:
    return entry.name not in SHOWN_FIRST, entry.name in SHOWN_LAST, entry.name


def _answers(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if is_answer(cell)]


def _name(cell: NotebookNode) -> str:
    return str(nbgrader_metadata(cell).get("grade_id", ""))


def _answered(notebook: NotebookNode, exercise: str, source: str) -> NotebookNode:
    changed = copy.deepcopy(notebook)
    next(cell for cell in _answers(changed) if _name(cell) == exercise).source = source
    return changed


def _with_copied_cells(notebook: NotebookNode) -> NotebookNode:
    """Copy an exercise and a check, ids and all, as copy and paste in JupyterLab does."""
    changed = copy.deepcopy(notebook)
    copies = [cell for cell in changed.cells if _name(cell)][-2:]
    changed.cells += copy.deepcopy(copies)
    return changed


def _from_colab(notebook: NotebookNode) -> NotebookNode:
    """Drop all metadata, as a service with metadata of its own does."""
    changed = copy.deepcopy(notebook)
    changed.metadata = nbformat.from_dict({"colab": {"provenance": []}})
    for number, cell in enumerate(changed.cells):
        cell.metadata = nbformat.from_dict({"id": f"colab{number}"})
        cell.id = f"colab{number}"
    return changed


def _without_first_check(notebook: NotebookNode) -> NotebookNode:
    changed = copy.deepcopy(notebook)
    check = next(cell for cell in changed.cells if nbgrader_metadata(cell).get("grade"))
    changed.cells.remove(check)
    return changed


def _with_skip_tags(notebook: NotebookNode) -> NotebookNode:
    """Tag each cell so that nbgrader's own execution would skip it and see no failure."""
    changed = copy.deepcopy(notebook)
    for cell in changed.cells:
        cell.metadata.tags = ["skip-execution"]
    return changed
