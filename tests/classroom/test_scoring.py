"""Points come from what a cell did, and from nothing that a learner can print in its place."""

from __future__ import annotations

from typing import Any

import pytest
from small_course import build_small_master

from grader.classroom.execution import CellRun, Execution
from grader.classroom.master import checks_of
from grader.classroom.partial import partial_points
from grader.classroom.scoring import Score, score_notebook

MASTER = build_small_master()
PLACES = {cell.metadata.get("nbgrader", {}).get("grade_id"): at for at, cell in enumerate(MASTER.cells)}


def stdout(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def error(name: str, value: str, *traceback: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": value, "traceback": list(traceback)}


def result(text: str) -> dict[str, Any]:
    return {"output_type": "execute_result", "data": {"text/plain": text}, "metadata": {}}


def score(check: str, *outputs: dict[str, Any], state: str = "ok") -> Score:
    run = CellRun(PLACES[check], state, 0.1, list(outputs))
    scores = score_notebook(MASTER, Execution({run.index: run}, "died", "the kernel died"))
    return next(score for score in scores if score.check.name == check)


def test_course_check_passes_by_its_line_alone() -> None:
    assert score("check_double", stdout("passed: 8\n")).points == 2
    assert score("check_double").points == 0
    assert score("check_double", stdout("passed: 8\n", "stderr")).points == 0


def test_error_after_the_line_is_no_pass() -> None:
    assert score("check_double", stdout("passed: 8\n"), error("KeyError", "'x'"), state="error").points == 0


def test_stderr_costs_nothing() -> None:
    assert score("check_double", stdout("100%|####|", "stderr"), stdout("passed: 8\n")).points == 2
    assert score("check_triple", stdout("UserWarning", "stderr")).points == 3


def test_instructors_cell_without_result_earns_all() -> None:
    assert score("check_triple").verdict == "pass"


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("1.5", 1.5),
        ("2", 2),
        ("1e0", 1),
        ("nan", 0),
        ("-3", 0),
        ("99", 4),
        ("inf", 4),
        ("np.float64(0.0)", 0),
        ("np.float32(2.5)", 2.5),
        ("np.int64(3)", 3),
        ("tensor(1.5000)", 1.5),
        ("tensor(2., dtype=torch.float64)", 2),
        ("tensor(2., grad_fn=<MulBackward0>)", 2),
        ("np.float64(nan)", 0),
        ("True", 4),
        ("np.False_", None),
        ("'all of them'", None),
        ("<object>", None),
    ],
)
def test_partial_points_are_clipped_numbers(text: str, points: float | None) -> None:
    assert partial_points(text, 4.0) == points


def test_result_that_is_no_number_is_given_to_the_instructor() -> None:
    found = score("check_guess", result("'full marks'"))
    assert (found.points, found.code, found.needs_review) == (0, "no_number", True)


def test_check_that_was_not_reached_says_why() -> None:
    scores = score_notebook(MASTER, Execution({}, "died", "the kernel died in the cell of double"))
    assert {score.verdict for score in scores} == {"not_reached"}
    assert all("the kernel died in the cell of double" in score.reason for score in scores)


def test_kernel_that_no_longer_runs_what_it_is_sent_earns_nothing() -> None:
    assert score("check_triple", state="changed").points == 0
    assert score("check_triple", state="changed").needs_review


def test_missing_answer_has_its_own_verdict() -> None:
    run = CellRun(PLACES["check_double"], "error", 0.1, [error("NotImplementedError", "")])
    scores = score_notebook(MASTER, Execution({run.index: run}), missing=("double",))
    assert scores[0].verdict == "missing"


def test_checks_know_exercise_points_and_part() -> None:
    found = [(check.name, check.exercise, check.points, check.is_further) for check in checks_of(MASTER)]
    assert found == [
        ("check_double", "double", 2, False),
        ("check_triple", "triple", 3, False),
        ("check_guess", "guess", 4, True),
    ]
