"""A class run without demonstrations gives the marks and codes of a run of all cells."""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.notebooknode import NotebookNode
from small_class import NewRoom

from grader.classroom.base.configuration import read_configuration
from grader.classroom.commands.command_line import _settings, register
from grader.classroom.commands.folder import lesson_sources
from grader.classroom.gradebook.steps import RunCells
from grader.classroom.handed_in.alignment import align
from grader.classroom.handed_in.reading import parse_cells
from grader.classroom.lesson.demonstrations import demonstrations, left_out_cells
from grader.classroom.lesson.master import master_path, read_stub

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
from class_demonstrations import assembled, make_room, notebooks_of, run_both

LESSONS = sorted(lesson_sources())
WHOLE = {
    "13_compilation",  # answers ask Accelerate for a plugin
    "15_data_parallel",  # a cell writes a script for torchrun
    "18_sharding",  # answers ask Accelerate for a plugin
    "20_fp8_training",  # answers ask Accelerate for a recipe
    "21_quantization_and_lora",  # given cells write a model to a folder
    "24_checkpoint_and_resume",  # answers write files
}
SAMPLED = "00_three_forms"  # its cells cost least; benchmarks/class_demonstrations.py compares all lessons
DEMONSTRATION = "results = []\nshown = model.total\ndef show(x):\n    results.append(x)"
GIVEN = "import torch\nfactor = 3\nmodel = make_model()\ndef use_model(x):\n    return model(x)"


def small_notebook(answer: str, demonstration: str = DEMONSTRATION, own: str = "") -> NotebookNode:
    """Return a rebuilt notebook: a given cell, a demonstration, an answer, a learner's own cell, a check."""
    cells = [nbformat.v4.new_code_cell(text) for text in (GIVEN, demonstration, answer, own, "assert double(2) == 4")]
    for cell, name in ((cells[0], "given"), (cells[2], "double"), (cells[4], "check_double")):
        cell.metadata.nbgrader = {"grade_id": name, "solution": name == "double", "grade": name == "check_double"}
    cells[3].id = "own-3"
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.parametrize(
    "answer",
    [
        "def double(x):\n    results = x * factor\n    return [torch.add(results, model) for model in [1]]",
        "def double(x):\n    return torch.rand(x)",
        "class A(torch.nn.Module):\n    def forward(self, x):\n        return torch.dropout(x, 0.1, True)",
    ],
)
def test_an_unchanged_demonstration_is_left_out(answer: str) -> None:
    assert left_out_cells(with_own_check(small_notebook(answer))) == (1,)


def test_a_draw_outside_of_the_checks_of_the_course_keeps_all_cells() -> None:
    answer = "def double(x):\n    return torch.rand(x)"
    assert left_out_cells(small_notebook(answer)) == ()  # an instructor's own check
    assert left_out_cells(with_own_check(small_notebook(answer, own="double(3)"))) == ()


@pytest.mark.parametrize("check", ["restores", "forgets"])
def test_what_a_lesson_resets_is_no_reason_for_all_cells(check: str) -> None:
    answer = "def double(x):\n    return Accelerator(mixed_precision='bf16')"
    notebook = with_own_check(small_notebook(answer))
    if check == "restores":
        notebook.cells[0].source += "\nAcceleratorState._reset_state(reset_partial_state=True)"
    assert left_out_cells(notebook) == ((1,) if check == "restores" else ())


def with_own_check(notebook: NotebookNode) -> NotebookNode:
    """Make the notebook's check one of the course's, which has settings and random numbers of its own."""
    notebook.cells[4].source = "# check: check_double\ncheck_double(double)"
    return notebook


@pytest.mark.parametrize(
    "answer",
    [
        "def double(x):\n    return show(x)",
        "def double(x):\n    return model(x)",
        "def double(x):\n    return globals().get('results', x)",
        "def double(x, seen=[]):\n    return seen",
        "seen = []\ndef double(x):\n    seen.append(x)\n    return len(seen)",
        "seen = iter(range(9))\ndef double(x):\n    return next(seen)",
        "def double(x):\n    double.calls = x",
        "class Counter:\n    seen = {}\ndef double(x):\n    return Counter.seen",
        "class Counter:\n    calls = 0\n    @classmethod\n    def count(cls):\n        cls.calls += 1",
        "def double(x):\n    torch.seen = x",
        "import sys\ndef double(x):\n    return sys._getframe(1).f_back",
        "def double(x):\n    global count\n    count = x",
        "seen = torch.rand(3)\ndef double(x):\n    return seen",
        "def double(x):\n    return Accelerator(mixed_precision='bf16')",
        "def double(x):\n    return use_model(x)",
        "import torch as results",
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
    [
        "torch.set_default_dtype(torch.float64)",
        "import os\nos.environ['A'] = '1'",
        "from math import *",
        "%cd ..",
        "%run other.ipynb",
        "globals()['factor'] = 4",
        "exec('factor = 4')",
        "import sys\nsys.path.append('..')",
        "torch.backends.mkldnn.enabled = False",
        "def patch():\n    torch.nn.Linear.forward = None\npatch()",
        "use_model.calls = 3",
        "class Shown:\n    pass\nShown.rows = 3",
        "torch.nn.modules.module.register_module_forward_hook(print)",
    ],
)
def test_a_demonstration_that_changes_settings_is_run(demonstration: str) -> None:
    assert left_out_cells(small_notebook("def double(x):\n    return 2 * x", demonstration)) == ()


@pytest.mark.parametrize(
    "given",
    [
        "def load(seen=[]):\n    return seen",
        "import functools\n@functools.lru_cache\ndef load():\n    return []",
        "def load():\n    load.calls = 1",
        "count = 0\ndef load():\n    global count\n    count += 1",
        "class load:\n    made = 0\n    def __init__(self):\n        load.made += 1",
    ],
)
def test_a_given_function_that_remembers_calls_keeps_all_cells_if_both_call_it(given: str) -> None:
    def of(demonstration: str, answer: str) -> tuple[int, ...]:
        notebook = with_own_check(small_notebook(answer, demonstration))
        notebook.cells[0].source += f"\n{given}"
        return left_out_cells(notebook)

    calls, does_not = "def double(x):\n    return load()", "def double(x):\n    return 2 * x"
    assert of("shown = load()", calls) == ()
    assert of("shown = load()", does_not) == (1,)
    assert of("shown = 3", calls) == (1,)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_room(tmp_path_factory.mktemp("left-out") / "classroom", [])


@pytest.mark.parametrize("lesson", sorted(set(LESSONS) - WHOLE))
def test_lessons_are_written_so_that_demonstrations_can_be_left_out(room: Path, lesson: str) -> None:
    for notebook in notebooks_of(room, lesson).values():
        rebuilt = align(read_stub(master_path(room, lesson)), parse_cells(json.dumps(notebook).encode())).notebook
        assert demonstrations(rebuilt)
        assert left_out_cells(rebuilt) == tuple(demonstrations(rebuilt))


@pytest.mark.slow
def test_marks_and_codes_are_those_of_a_full_run(room: Path) -> None:
    notebook = assembled(room, SAMPLED, random.Random(SAMPLED))
    reduced, found = run_both(room, SAMPLED, notebook)
    assert found[True] == found[False]
    assert set(reduced.cells).isdisjoint(reduced.left_out)


@pytest.mark.slow
def test_a_missing_name_at_run_time_asks_for_all_cells(room: Path) -> None:
    notebook = notebooks_of(room, SAMPLED)["untouched"]
    notebook.cells.append(nbformat.v4.new_code_cell("raise NameError('hidden from the analysis')"))
    reduced, found = run_both(room, SAMPLED, notebook)
    assert not reduced.left_out
    assert found[True] == found[False]


def test_demonstrations_are_left_out_only_where_that_is_asked_for(room: Path, new_room: NewRoom) -> None:
    assert RunCells(config=read_configuration(room)).run_demonstrations
    parser = argparse.ArgumentParser()
    register(parser.add_subparsers())
    asked = {"--all-cells": {"run_demonstrations": True}, "--skip-demonstrations": {"run_demonstrations": False}}
    for options, expected in (([], {}), *(([option], settings) for option, settings in asked.items())):
        assert _settings(parser.parse_args(["autograde", str(room), *options])) == expected
