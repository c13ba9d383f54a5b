"""The lesson of the hostile class: a judged check, a helper module, an instructor's float, a socket; 9 points and 1."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode
from small_course import cell_of, code

from grader.classroom.commands.folder import make_classroom

LESSON = "08_four_questions"
HIDDEN_NUMBER = "271828"
SOLUTION_COMMENT = "the instructor's own way"
SECRETS = (HIDDEN_NUMBER, SOLUTION_COMMENT, "BEGIN HIDDEN")  # what no student may read

# It compares types too: a value of a class of the learner's own can claim to be equal to anything.
HELPER = '''\
"""Comparisons for the checks of this lesson."""


def check_equal(measured, expected):
    assert type(measured) is type(expected) and measured == expected, "the values differ"
'''
GIVEN = """\
import socket
from grader import check_largest_micro_batch
from helper import check_equal"""
CHECKS = {
    "largest_micro_batch": "check_largest_micro_batch",
    "double": "check_double",
    "halve": "check_halve",
    "connect": "check_connect",
}
POINTS = dict(zip(CHECKS.values(), (2, 3, 4, 1), strict=True))
STUBS = {
    "largest_micro_batch": '''\
def largest_micro_batch(forecast_peak, batch, budget_bytes):
    """Return the largest micro-batch that divides the batch and fits the budget."""''',
    "double": 'def double(number):\n    """Return twice the number."""',
    "halve": 'def halve(number):\n    """Return half of the number, as a float."""',
    "connect": 'def connect(port):\n    """Return a socket that is connected to this port of the machine."""',
}
BODIES = {
    "largest_micro_batch": """\
    fitting = [n for n in range(1, batch + 1) if batch % n == 0 and forecast_peak(n) <= budget_bytes]
    if not fitting:
        raise ValueError("not even one row fits")
    return max(fitting)""",
    "double": "    return 2 * number",
    "halve": "    return number / 2",
    "connect": '    return socket.create_connection(("127.0.0.1", port), 2)',
}
WRONG = {
    "largest_micro_batch": "    return 1",
    "double": "    return number",
    "halve": "    return 0.0",
    "connect": "    return None",
}
CHECK_CELLS = {
    "check_largest_micro_batch": "check_largest_micro_batch(largest_micro_batch)",
    "check_double": f"""\
check_equal(double(4), 8)
### BEGIN HIDDEN TESTS
check_equal(double({HIDDEN_NUMBER}), 2 * {HIDDEN_NUMBER})
### END HIDDEN TESTS""",
    "check_halve": """\
errors = abs(float(halve(8)) - 4.0) + abs(float(halve(7)) - 3.5)
4.0 - errors""",
    "check_connect": """\
with socket.create_server(("127.0.0.1", 0)) as server:
    server.settimeout(2)
    with connect(server.getsockname()[1]) as client, server.accept()[0] as side:
        side.sendall(b"heard")
        assert client.recv(5) == b"heard\"""",
}


@cache
def build_hostile_master(source: Path | None = None) -> NotebookNode:
    cells = [nbformat.v4.new_markdown_cell("# 8. Four questions"), code(GIVEN, "given_imports")]
    for exercise, check in CHECKS.items():
        if exercise == "connect":
            cells.append(nbformat.v4.new_markdown_cell("## Further", metadata={"tags": ["further"]}))
        body = f"    ### BEGIN SOLUTION\n{BODIES[exercise]}  # {SOLUTION_COMMENT}\n    ### END SOLUTION"
        cells.append(code(f"# exercise: {exercise}\n{STUBS[exercise]}\n{body}", exercise, is_answer=True))
        points = POINTS[check]
        line = f"# check: {check} ({points} points)\n" if check == "check_largest_micro_batch" else ""
        cells.append(code(line + CHECK_CELLS[check], check, points=points))
    cells[-1].metadata.tags = ["needs-loopback"]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernelspec})


def make_hostile_room(folder: Path) -> Path:
    """Make a classroom of the lesson, with its helper module next to the notebook."""
    make_classroom(folder, [], {LESSON: Path("hostile.py")}, build_hostile_master)
    (folder / "source" / LESSON / "helper.py").write_text(HELPER)
    return folder


def answer(exercise: str, body: str) -> str:
    """Return the source of an exercise's cell with this body."""
    return f"# exercise: {exercise}\n{STUBS[exercise]}\n{body}"


RIGHT = {exercise: answer(exercise, body) for exercise, body in BODIES.items()}
ALL_WRONG = {exercise: answer(exercise, body) for exercise, body in WRONG.items()}


def handed_in(
    release: NotebookNode, answers: Mapping[str, str], own: Mapping[str, Sequence[str]] | None = None
) -> NotebookNode:
    """Return a release with these answers, and with own cells before some cells; "" puts them at the end."""
    notebook = copy.deepcopy(release)
    for exercise, source in answers.items():
        cell_of(notebook, exercise).source = source
    for before, sources in (own or {}).items():
        place = notebook.cells.index(cell_of(notebook, before)) if before else len(notebook.cells)
        notebook.cells[place:place] = [code(source) for source in sources]
    return notebook
