"""Points come from what a cell did, and from nothing that a learner can print in its place."""

from __future__ import annotations

from typing import Any

import pytest
from judged_lesson import build_master
from small_course import build_small_master

from grader.classroom.lesson.master import checks_of
from grader.classroom.running.execution import CellRun, Execution
from grader.classroom.scoring.comments import comment_on
from grader.classroom.scoring.scores import Score, partial_points, score_notebook

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
    return next(score for score in scores if score.check == check)


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
    assert (score("check_triple", state="changed").points, score("check_triple", state="changed").verdict) == (
        0,
        "tampered",
    )
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


# Checks that are judged outside

JUDGED = build_master()
SIZES = "check_largest_micro_batch"
AT = next(at for at, cell in enumerate(JUDGED.cells) if cell.metadata.nbgrader.grade_id == SIZES)


def judged(*outputs: dict[str, Any], **fields: Any) -> Score:
    run = CellRun(AT, "ok", 0.1, list(outputs), **fields)
    scores = score_notebook(JUDGED, Execution({AT: run}))
    return next(score for score in scores if score.check == SIZES)


def verdict_of(outcome: str, code: str) -> dict[str, str]:
    return {"outcome": outcome, "code": code, "expected": "6", "measured": "5\x1b[31m", "look_at": "the sixth"}


def test_judged_check_earns_points_by_its_verdict_alone() -> None:
    assert judged(stdout("passed: 6 jobs\n")).code == "no_verdict"
    assert judged(verdict=verdict_of("judged", "passed")).points == 2
    score = judged(stdout("passed: 6 jobs\n"), verdict=verdict_of("judged", "whole_batch"))
    assert (score.points, score.verdict, score.code) == (0, "fail", "whole_batch")
    assert (score.expected, score.measured, score.look_at) == ("6", "5 [31m", "the sixth")


@pytest.mark.parametrize("outcome", ["tampered", "undecided"])
def test_withheld_points_wait_for_a_person(outcome: str) -> None:
    score = judged(verdict=verdict_of(outcome, outcome))
    assert (score.points, score.verdict, score.needs_review) == (0, outcome, True)
    assert "person" in (comment_on([score]) or "")
    assert "5" not in (comment_on([score]) or "")


@pytest.mark.parametrize(
    ("check", "control", "is_tampered"),
    [
        ("check_double", {"state": "ok", "text": "passed: 8\n", "result": None}, True),
        ("check_double", {"state": "error", "text": "passed: 8\n", "result": None}, False),
        ("check_double", {"state": "ok", "text": "", "result": None}, False),
        ("check_triple", {"state": "ok", "text": "", "result": None}, True),
        ("check_triple", {"state": "error", "text": "", "result": None}, False),
        ("check_triple", {"state": "timeout", "text": "", "result": None}, True),  # perhaps another answered for it
        ("check_triple", {"state": "died", "text": "", "result": None}, True),
        ("check_guess", {"state": "ok", "text": "", "result": "4.0"}, True),
        ("check_guess", {"state": "ok", "text": "", "result": "99"}, True),
        ("check_guess", {"state": "ok", "text": "", "result": "1.0"}, False),
        ("check_guess", {"state": "ok", "text": "", "result": None}, True),
    ],
)
def test_a_control_that_earns_all_points_withholds_them(check: str, control: dict[str, Any], is_tampered: bool) -> None:
    outputs = {"check_double": [stdout("passed: 8\n")], "check_guess": [result("4.0")]}.get(check, [])
    run = CellRun(PLACES[check], "ok", 0.1, outputs, control=control)
    score = next(s for s in score_notebook(MASTER, Execution({run.index: run})) if s.check == check)
    assert score.verdict == ("tampered" if is_tampered else "pass")
    assert score.points == (0 if is_tampered else score.maximum)


@pytest.mark.parametrize(
    ("level", "verdict", "points"), [("landlock", "not_gradable", None), ("namespaces", "pass", 3)]
)
def test_a_check_that_this_sandbox_cannot_run_waits_for_a_person(
    level: str, verdict: str, points: float | None
) -> None:
    master = build_small_master()
    master.cells[PLACES["check_triple"]].metadata.tags = ["needs-loopback"]
    run = CellRun(PLACES["check_triple"], "ok", 0.1, [])
    score = score_notebook(master, Execution({run.index: run}, sandbox=level))[1]
    assert (score.verdict, score.points, score.needs_review) == (verdict, points, points is None)
    assert ("person" in (comment_on([score]) or "")) == (points is None)
    missing = score_notebook(master, Execution(sandbox=level), ["triple"])[1]
    assert (missing.points, missing.verdict) == (0, "missing")
