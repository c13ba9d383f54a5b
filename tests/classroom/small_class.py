"""A class of hostile, faulty and honest submissions to the small lesson."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode
from small_course import LESSON, answer, build_small_master, cell_of, code, from_colab, hand_in, solved

from grader.classroom.commands.folder import make_classroom

NewRoom = Callable[[], Path]  # makes another classroom of the small lesson
BLANK_LATER_CELLS = "get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])"
NOISY = """\
# exercise: double
import sys, warnings
def double(number):
    warnings.warn("this is fine")
    print("50%|#####     |", file=sys.stderr)
    return 2 * number"""


def make_room(folder: Path) -> Path:
    """Make a classroom of the small lesson."""
    make_classroom(folder, [], {LESSON: Path("small.py")}, build_small_master)
    return folder


def release_of(room: Path) -> NotebookNode:
    return nbformat.read(room / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)


def tagged(release: NotebookNode) -> NotebookNode:
    notebook = copy.deepcopy(release)
    for cell in notebook.cells:
        cell.metadata.tags = ["skip-execution", "raises-exception"]
    return notebook


def copied(release: NotebookNode) -> NotebookNode:
    notebook = solved(release)
    notebook.cells.append(copy.deepcopy(cell_of(notebook, "check_double")))
    notebook.cells.append(copy.deepcopy(cell_of(notebook, "triple")))
    return notebook


def without(notebook: NotebookNode, *grade_ids: str) -> NotebookNode:
    cut = copy.deepcopy(notebook)
    cut.cells = [cell for cell in cut.cells if cell.metadata.get("nbgrader", {}).get("grade_id") not in grade_ids]
    return cut


def edited_checks(release: NotebookNode) -> NotebookNode:
    notebook = answer(release, "double", "def double(number):\n    return 0")
    cell_of(notebook, "check_double").source = "print('passed: all')"
    cell_of(notebook, "check_triple").metadata.nbgrader.points = 100
    raw = cell_of(notebook, "check_guess")
    notebook.cells[notebook.cells.index(raw)] = nbformat.v4.new_raw_cell(raw.source, metadata=raw.metadata)
    return notebook


def foreign(notebook: NotebookNode) -> NotebookNode:
    notebook.metadata = nbformat.from_dict({"kernelspec": {"name": "julia-1.9", "display_name": "Julia"}})
    return notebook


def with_cell(notebook: NotebookNode, source: str, *, before: str) -> NotebookNode:
    changed = copy.deepcopy(notebook)
    changed.cells.insert(changed.cells.index(cell_of(changed, before)), code(source))
    return changed


def with_cells(notebook: NotebookNode, sources: list[str], *, before: str) -> NotebookNode:
    """Insert cells of the learner's own, in their order."""
    for source in sources:
        notebook = with_cell(notebook, source, before=before)
    return notebook


def fill_with_six(room: Path, seconds: float) -> None:
    """Hand in six submissions; one of them takes so many seconds more."""
    done = with_cell(solved(release_of(room)), f"import time\ntime.sleep({seconds})", before="double")
    hand_in(room, "ada", done)
    hand_in(room, "bob", answer(done, "double", "def double(number):\n    return number * number"))
    hand_in(room, "cleo", answer(done, "double", NOISY))
    hand_in(room, "dan", answer(done, "triple", "import os\nos._exit(0)"))
    hand_in(room, "eve", release_of(room))
    hand_in(room, "fay", "{")


def fill(room: Path) -> None:
    """Hand in every case; the student's name says which."""
    release = release_of(room)
    done = solved(release)
    for student, notebook in {
        "solved": done,
        "untouched": release,
        "tagged": tagged(release),
        "copied": copied(release),
        "deleted": without(done, "check_double", "given_small"),
        "edited": edited_checks(release),
        "noisy": foreign(answer(done, "double", NOISY)),
        "squared": answer(done, "double", "def double(number):\n    return number * number"),
        "endless": answer(done, "triple", "while True: pass"),
        "exits": answer(done, "triple", "import os\nos._exit(0)"),
        "dies_often": with_cells(done, 4 * ["import os\nos._exit(0)"], before="check_triple"),
        "quits": answer(done, "double", "def double(number):\n    return 2 * number\nquit()"),
        "kills": answer(done, "triple", "import os\nos.kill(os.getppid(), 9)"),
        "nan": answer(done, "guess", "def guess():\n    return float('nan')"),
        "half": answer(done, "guess", "class Half:\n    __repr__ = lambda self: 'np.float64(2.0)'\nguess = Half"),
        "reset": with_cell(done, "%reset -f", before="check_double"),
        "blanks": with_cell(release, BLANK_LATER_CELLS, before="double"),
    }.items():
        hand_in(room, student, notebook)
    hand_in(room, "colab", from_colab(done), f"12345_colab_{LESSON} (1).ipynb")
    fill_unreadable(room, done)


def fill_unreadable(room: Path, done: NotebookNode) -> None:
    text = nbformat.writes(done)
    hand_in(room, "cut", text[: len(text) // 2])
    hand_in(room, "empty", "")
    hand_in(room, "conflict", text.replace(' "cells"', '<<<<<<< HEAD\n "cells"', 1))
    hand_in(room, "other_json", '{"marks": 100}')
    with hand_in(room, "big", "").open("r+b") as file:
        file.truncate(100_000_000)
    link = hand_in(room, "link", "")
    link.unlink()
    secret = room.parent / "host_file.ipynb"
    secret.write_text(text)
    link.symlink_to(secret)
    (room / "submitted" / "folder" / LESSON / f"{LESSON}.ipynb").mkdir(parents=True)
    (room / "submitted" / "linked_folder").mkdir()
    (room / "submitted" / "linked_folder" / LESSON).symlink_to(room / "source" / LESSON)
    (room / "submitted" / "nothing" / LESSON).mkdir(parents=True)
    (room / "submitted" / "notes.txt").write_text("ada is ill")
    os.mkfifo(hand_in(room, "pipe", "").with_name("pipe.ipynb"))
    hand_in(room, "pipe", "").unlink()
