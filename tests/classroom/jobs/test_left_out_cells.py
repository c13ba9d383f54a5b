"""A class run without demonstrations gives the marks and codes of a run of all cells."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path

import nbformat
import pytest
from nbformat.notebooknode import NotebookNode

from grader.authoring.banks import read_banks
from grader.authoring.lesson import read_lesson
from grader.classroom.base.configuration import read_configuration
from grader.classroom.commands.folder import lesson_sources, make_classroom
from grader.classroom.gradebook.steps import RunCells
from grader.classroom.handed_in.alignment import align
from grader.classroom.handed_in.reading import parse_cells
from grader.classroom.lesson.demonstrations import demonstrations, left_out_cells
from grader.classroom.lesson.master import is_answer, master_path, nbgrader_metadata, read_notebook, read_stub
from grader.classroom.running.execution import Execution
from grader.classroom.scoring.scores import score_notebook

LESSONS = sorted(lesson_sources())
WHOLE = {  # an answer reads the generator's state or draws numbers; a setting is changed
    "03_gradient_checkpointing",
    "04_number_formats",
    "08_adam_8bit",
}
SAMPLED = ("00_three_forms",)
DEMONSTRATION = "results = []\nshown = model.total\ndef show(x):\n    results.append(x)"
GIVEN = "import torch\nfactor = 3\nmodel = make_model()"


def small_notebook(answer: str, demonstration: str = DEMONSTRATION, own: str = "") -> NotebookNode:
    """Return a rebuilt notebook: a given cell, a demonstration, an answer, a learner's own cell, a check."""
    cells = [nbformat.v4.new_code_cell(text) for text in (GIVEN, demonstration, answer, own, "assert double(2) == 4")]
    for cell, name in ((cells[0], "given"), (cells[2], "double"), (cells[4], "check_double")):
        cell.metadata.nbgrader = {"grade_id": name, "solution": name == "double", "grade": name == "check_double"}
    cells[3].id = "own-3"
    return nbformat.v4.new_notebook(cells=cells)


def test_an_unchanged_demonstration_is_left_out() -> None:
    answer = "def double(x):\n    results = x * factor\n    return [torch.add(results, model) for model in [1]]"
    assert left_out_cells(small_notebook(answer)) == (1,)


@pytest.mark.parametrize(
    "answer",
    [
        "def double(x):\n    return show(x)",
        "def double(x):\n    return model(x)",
        "def double(x):\n    return globals().get('results', x)",
        "def double(x, seen=[]):\n    return seen",
        "def double(x):\n    global count\n    count = x",
        "def double(x):\n    return torch.rand(x)",
        "%time double = show",
        "class A:\n    double = results",
        "double = lambda x: [results for _ in x]",
    ],
)
def test_an_answer_that_could_notice_keeps_all_cells(answer: str) -> None:
    assert left_out_cells(small_notebook(answer)) == ()
    assert left_out_cells(small_notebook("def double(x):\n    return 2 * x", own=answer)) == ()


@pytest.mark.parametrize(
    "demonstration",
    ["torch.set_default_dtype(torch.float64)", "import os\nos.environ['A'] = '1'", "from math import *", "%cd .."],
)
def test_a_demonstration_that_changes_settings_is_run(demonstration: str) -> None:
    assert left_out_cells(small_notebook("def double(x):\n    return 2 * x", demonstration)) == ()


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("left-out") / "classroom"
    make_classroom(folder, [])
    with (folder / "nbgrader_config.py").open("a") as configuration:
        configuration.write('c.RunCells.sandbox = "none"\nc.RunCells.is_unsafe = True\n')
    return folder


def step_of(room: Path, *, all_cells: bool) -> RunCells:
    config = read_configuration(room)
    config.RunCells.run_demonstrations = all_cells
    return RunCells(config=config)


def run_both(room: Path, lesson: str, text: str) -> tuple[Execution, dict[bool, dict[str, object]]]:
    """Grade a submission without and with the demonstrations; return the first run, and both results by check."""
    rebuilt = align(read_stub(master_path(room, lesson)), parse_cells(text.encode()))
    reduced, found = Execution(), {}
    for all_cells in (True, False):
        nb = copy.deepcopy(rebuilt.notebook)
        reduced = step_of(room, all_cells=all_cells).execute(nb, {"assignment": lesson, "student": "ada"})
        scores = score_notebook(nb, reduced, rebuilt.missing)
        found[all_cells] = {score.check: (score.points, score.verdict, score.code) for score in scores}
    return reduced, found


def notebooks_of(room: Path, lesson: str) -> dict[str, NotebookNode]:
    release = read_notebook(room / "release" / lesson / f"{lesson}.ipynb")
    solved = copy.deepcopy(release)
    answers = {cell.metadata.nbgrader.grade_id: cell.source for cell in filter(is_answer, master(room, lesson).cells)}
    for cell in filter(is_answer, solved.cells):
        cell.source = answers[cell.metadata.nbgrader.grade_id]
    return {"untouched": release, "solved": solved}


def master(room: Path, lesson: str) -> NotebookNode:
    return read_notebook(master_path(room, lesson))


def from_banks(room: Path, lesson: str, draw: random.Random) -> NotebookNode:
    """Return a solved notebook in which some exercises have an answer of their banks."""
    notebook = notebooks_of(room, lesson)["solved"]
    source = lesson_sources()[lesson]
    entries = [entry for bank in read_banks(source.parents[1], read_lesson(source)) for entry in bank.entries]
    for cell in filter(is_answer, notebook.cells):
        known = [entry for entry in entries if entry.exercise == nbgrader_metadata(cell)["grade_id"]]
        if known and draw.random() < 0.7:
            cell.source = draw.choice(known).source
    return notebook


@pytest.mark.parametrize("lesson", LESSONS)
def test_lessons_are_written_so_that_demonstrations_can_be_left_out(room: Path, lesson: str) -> None:
    for notebook in notebooks_of(room, lesson).values():
        rebuilt = align(read_stub(master_path(room, lesson)), parse_cells(json.dumps(notebook).encode())).notebook
        assert demonstrations(rebuilt)
        assert left_out_cells(rebuilt) == (() if lesson in WHOLE else tuple(demonstrations(rebuilt)))


@pytest.mark.parametrize("lesson", SAMPLED)
def test_marks_and_codes_are_those_of_a_full_run(room: Path, lesson: str) -> None:
    notebook = from_banks(room, lesson, random.Random(lesson))
    reduced, found = run_both(room, lesson, json.dumps(notebook))
    assert found[True] == found[False]
    assert set(reduced.cells).isdisjoint(reduced.left_out)


def test_a_missing_name_at_run_time_asks_for_all_cells(room: Path) -> None:
    lesson = SAMPLED[0]
    notebook = notebooks_of(room, lesson)["untouched"]
    notebook.cells.append(nbformat.v4.new_code_cell("raise NameError('hidden from the analysis')"))
    reduced, found = run_both(room, lesson, json.dumps(notebook))
    assert not reduced.left_out
    assert found[True] == found[False]
