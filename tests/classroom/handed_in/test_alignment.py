"""A submission that lost, copied or renamed cells is rebuilt as if it had not."""

from __future__ import annotations

import copy
import json

import nbformat
import pytest
from nbformat.notebooknode import NotebookNode
from small_class import copied, edited_checks, tagged, without
from small_course import answer, build_small_master, cell_of, code, from_colab, solved

from grader.classroom.handed_in.alignment import STUB as HANDED_OUT
from grader.classroom.handed_in.alignment import Alignment, align
from grader.classroom.handed_in.reading import parse_cells
from grader.classroom.lesson.master import untouched

STUB = untouched(build_small_master())


def rebuilt(submission: NotebookNode) -> Alignment:
    return align(STUB, parse_cells(json.dumps(submission).encode()))


def sources(alignment: Alignment) -> list[str]:
    return [cell.source for cell in alignment.notebook.cells]


SOLVED = solved(STUB)


@pytest.mark.parametrize(
    "submission",
    [
        copied(STUB),
        tagged(SOLVED),
        from_colab(SOLVED),
        from_colab(copied(STUB)),
        without(SOLVED, "check_double", "check_triple", "given_small"),
        nbformat.v4.new_notebook(
            cells=[cell for cell in SOLVED.cells if cell.metadata.get("nbgrader", {}).get("solution")]
        ),
    ],
    ids=["copied", "tagged", "colab", "colab and copied", "checks deleted", "answers alone"],
)
def test_rebuilt_notebook_is_the_solved_one(submission: NotebookNode) -> None:
    assert sources(rebuilt(submission)) == [cell.source for cell in SOLVED.cells]


def test_nothing_of_the_learners_but_text_is_kept() -> None:
    notebook = rebuilt(edited_checks(STUB)).notebook
    for cell, master in zip(notebook.cells, STUB.cells, strict=True):
        assert {name: value for name, value in cell.metadata.items() if name != HANDED_OUT} == master.metadata
        assert cell.metadata.get(HANDED_OUT, master.source) == master.source
        assert cell.cell_type == master.cell_type
    assert cell_of(notebook, "check_double").source == cell_of(STUB, "check_double").source


def test_own_code_cells_stay_where_they_were() -> None:
    submission = copy.deepcopy(SOLVED)
    at = submission.cells.index(cell_of(submission, "double"))
    submission.cells.insert(at, code("FACTOR = 2"))
    submission.cells.insert(0, code("import os"))
    found = sources(rebuilt(submission))
    assert found[0] == "import os"
    assert found[found.index("FACTOR = 2") + 1] == cell_of(submission, "double").source


def test_answer_without_id_and_identity_line_is_found_by_its_function() -> None:
    submission = from_colab(answer(SOLVED, "triple", "def triple(n):\n    return n + n + n"))
    alignment = rebuilt(submission)
    assert cell_of(alignment.notebook, "triple").source == "def triple(n):\n    return n + n + n"
    assert not alignment.missing


def test_two_answers_in_one_cell_are_both_kept() -> None:
    both = "def double(n):\n    return 2 * n\n\ndef triple(n):\n    return 3 * n"
    alignment = rebuilt(without(answer(SOLVED, "double", both), "triple"))
    assert "def triple" not in cell_of(alignment.notebook, "triple").source
    assert not alignment.missing
    assert "triple: answered in the cell of another exercise" in alignment.notes


def test_answer_below_an_untouched_stub_still_runs_after_it() -> None:
    submission = answer(SOLVED, "double", cell_of(STUB, "double").source)
    at = submission.cells.index(cell_of(submission, "double"))
    submission.cells.insert(at + 1, code("def double(n):\n    return n + n"))
    found = sources(rebuilt(submission))
    assert found.index("def double(n):\n    return n + n") == found.index(cell_of(STUB, "double").source) + 1


STUB_TEXT = cell_of(STUB, "double").source


@pytest.mark.parametrize(
    "below",
    [
        code(STUB_TEXT, "double", is_answer=True),
        code(STUB_TEXT),
        code("", "double", is_answer=True),
        code("  \n", "double", is_answer=True),
        code("x = 2", "double", is_answer=True),
    ],
    ids=["copy", "copy without metadata", "empty", "blank", "another use of the cell"],
)
@pytest.mark.parametrize("keeps_metadata", [True, False])
def test_copy_below_the_answer_that_is_no_answer_does_not_replace_it(below: NotebookNode, keeps_metadata: bool) -> None:
    submission = copy.deepcopy(SOLVED)
    own = cell_of(submission, "double")
    text = own.source
    if not keeps_metadata:
        own.metadata, own.source = nbformat.from_dict({}), text.partition("\n")[2]
    submission.cells.insert(submission.cells.index(own) + 1, below)
    found = sources(rebuilt(submission))
    assert own.source in found
    assert STUB_TEXT not in found[found.index(own.source) :]


def test_stub_below_an_answer_in_another_exercises_cell_does_not_replace_it() -> None:
    submission = answer(SOLVED, "double", "def double(n):\n    return 2 * n\ndef triple(n):\n    return 3 * n")
    submission = answer(submission, "triple", cell_of(STUB, "triple").source)
    assert cell_of(STUB, "triple").source not in sources(rebuilt(submission))


def test_missing_answer_leaves_the_stub_and_is_noted() -> None:
    alignment = rebuilt(without(SOLVED, "triple"))
    assert alignment.missing == ("triple",)
    assert cell_of(alignment.notebook, "triple").source == cell_of(STUB, "triple").source
    assert "triple: its cell is missing" in alignment.notes


def test_notebook_of_another_lesson_is_named_as_such() -> None:
    other = nbformat.v4.new_notebook(cells=[code("x = 1"), code("y = 2")])
    assert any("another lesson" in note for note in rebuilt(other).notes)


def test_similar_answers_without_any_name_are_given_to_the_instructor() -> None:
    stub_text = cell_of(STUB, "guess").source.replace("# exercise: guess\n", "").replace("def guess", "def gues_")
    submission = without(SOLVED, "guess")
    submission.cells += [code(stub_text), code(stub_text + "  # second try")]
    assert any("please look" in note for note in rebuilt(submission).notes)
