"""A lesson that is cheap to run: a check of the course's form, an instructor's asserts, an instructor's float."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode

LESSON = "07_small_numbers"

GIVEN = """\
class CheckFailed(AssertionError):
    def __init__(self, code, expected, measured, look_at):
        super().__init__(f"[{code}] {measured}")
        self.said = [f"expected  {expected}", f"measured  {measured}", f"look at   {look_at}"]

    def _render_traceback_(self):
        return self.said


def check_double(double):
    measured = double(4)
    if measured == 16:
        raise CheckFailed("squared", "8", "16", "the number is squared, not doubled")
    if measured != 8:
        raise CheckFailed("unrecognised", "8", str(measured), "what doubling does")
    print("passed: 8")"""

DOUBLE = '''\
# exercise: double
def double(number):
    """Return twice the number."""
    ### BEGIN SOLUTION
    return 2 * number  # the secret of doubling
    ### END SOLUTION'''

TRIPLE = '''\
# exercise: triple
def triple(number):
    """Return three times the number."""
    ### BEGIN SOLUTION
    return 3 * number
    ### END SOLUTION'''

GUESS = '''\
# exercise: guess
def guess():
    """Return a number between 0 and 4."""
    ### BEGIN SOLUTION
    return 4.0
    ### END SOLUTION'''

CHECK_DOUBLE = "# check: check_double (2 points)\ncheck_double(double)"
CHECK_TRIPLE = """\
assert triple(2) == 6, "triple(2) is not 6"
### BEGIN HIDDEN TESTS
assert triple(41) == 123  # hidden number
### END HIDDEN TESTS"""
CHECK_GUESS = "guess()"


def code(source: str, grade_id: str = "", *, points: int = 0, is_answer: bool = False) -> NotebookNode:
    cell = nbformat.v4.new_code_cell(source)
    if grade_id:
        cell.metadata.nbgrader = {
            "schema_version": 3,
            "grade_id": grade_id,
            "grade": points > 0,
            "solution": is_answer,
            "locked": not is_answer,
            "task": False,
        }
        if points:
            cell.metadata.nbgrader["points"] = points
    return cell


def build_small_master(source: Path | None = None) -> NotebookNode:
    further = nbformat.v4.new_markdown_cell("## Further", metadata={"tags": ["further"]})
    cells = [
        nbformat.v4.new_markdown_cell("# 7. Small numbers"),
        code(GIVEN, "given_small"),
        code(DOUBLE, "double", is_answer=True),
        code(CHECK_DOUBLE, "check_double", points=2),
        code(TRIPLE, "triple", is_answer=True),
        code(CHECK_TRIPLE, "check_triple", points=3),
        further,
        code(GUESS, "guess", is_answer=True),
        code(CHECK_GUESS, "check_guess", points=4),
    ]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernelspec})


def answer(notebook: NotebookNode, exercise: str, source: str) -> NotebookNode:
    """Return a copy with the source of one exercise replaced."""
    changed = copy.deepcopy(notebook)
    cell_of(changed, exercise).source = source
    return changed


def cell_of(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def solved(release: NotebookNode) -> NotebookNode:
    """Return a release whose exercises are answered."""
    notebook = answer(release, "double", "# exercise: double\ndef double(number):\n    return number + number")
    notebook = answer(notebook, "triple", "# exercise: triple\ndef triple(number):\n    return number * 3")
    return answer(notebook, "guess", "# exercise: guess\ndef guess():\n    return 4.0")


def from_colab(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook as a service gives it back that keeps no metadata and has ids of its own."""
    lost = copy.deepcopy(notebook)
    lost.metadata = nbformat.from_dict({"colab": {"provenance": []}})
    for number, cell in enumerate(lost.cells):
        cell.metadata = nbformat.from_dict({"id": f"Xy{number}", "colab": {}})
        cell.id = f"Xy{number}"
    return lost


def hand_in(
    classroom: Path,
    student: str,
    content: NotebookNode | str | bytes,
    name: str = f"{LESSON}.ipynb",
    lesson: str = LESSON,
) -> Path:
    path = classroom / "submitted" / student / lesson / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path
