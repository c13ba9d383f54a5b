"""Score a run: a pure function from what a notebook did to points, with a reason for each lost one."""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nbformat.notebooknode import NotebookNode

from grader.classroom.base.row import FAIL, MANUAL, MISSING, NOT_GRADABLE, PARTIAL, PASS, Score
from grader.classroom.base.storage import one_line
from grader.classroom.lesson.hidden_tests import has_hidden, safe_message
from grader.classroom.lesson.master import Check, checks_of, nbgrader_metadata
from grader.classroom.running.execution import (
    CHANGED,
    DIED,
    ERROR,
    FINISHED,
    NOT_REACHED,
    OK,
    STUCK,
    TAMPERED,
    TIMEOUT,
    UNDECIDED,
    CellRun,
    Execution,
)
from grader.classroom.sandbox.confinement import WITH_LOOPBACK
from grader.verdict import PASSED

PASSED_LINE = re.compile(r"^passed: ", re.MULTILINE)
COURSE_ERROR = "CheckFailed"
UNSOLVED_ERRORS = {"NotSolvedYet", "NotImplementedError"}  # of the course's checks, and of nbgrader's stub
CODE = re.compile(r"^\[(\w+)\]\s*")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LONGEST_FIELD = 400  # characters
NUMBER = r"[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf|nan)"
SCALAR = re.compile(rf"^(?:[\w.]+\()?\s*({NUMBER}|True|False)\s*(?:,[^()]*)?\)?$", re.IGNORECASE)


def score_of(check: Check, points: float | None, verdict: str, code: str = "", **said: Any) -> Score:
    """Return the score of a check.

    Args:
        check: The check.
        points: Points earned; None where a person gives them.
        verdict: How the check ended.
        code: The misconception, or the kind of error.
        said: Any other field of `Score`.
    """
    return Score(check.name, check.exercise, check.part, check.points, points, verdict, code, **said)


def score_notebook(notebook: NotebookNode, execution: Execution, missing: Sequence[str] = ()) -> list[Score]:
    """Score every check of a rebuilt notebook.

    Args:
        notebook: The notebook that was run, made of the master's cells.
        execution: What it did.
        missing: Exercises whose cell the submission does not have.

    Returns:
        One score per graded cell, in order.
    """
    checks = {check.name: check for check in checks_of(notebook)}
    answers = _runs_of_answers(notebook, execution)
    scores = []
    for index, cell in enumerate(notebook.cells):
        check = checks.get(str(nbgrader_metadata(cell).get("grade_id", "")))
        if check is None:
            continue
        is_missing = check.exercise in missing
        if check.is_manual:
            scores.append(_manual(check, cell))
        elif check.needs_loopback and execution.sandbox not in WITH_LOOPBACK and not is_missing:
            scores.append(_not_gradable(check, execution.sandbox))
        else:
            score = _score_check(check, execution.cells.get(index), execution, answers.get(check.exercise))
            scores.append(_as_shown(score, check, str(cell.source), is_missing))
    return scores


def _runs_of_answers(notebook: NotebookNode, execution: Execution) -> dict[str, CellRun | None]:
    return {
        str(nbgrader_metadata(cell)["grade_id"]): execution.cells.get(index)
        for index, cell in enumerate(notebook.cells)
        if nbgrader_metadata(cell).get("solution")
    }


def _as_shown(score: Score, check: Check, source: str, is_missing: bool) -> Score:
    """Return the score without what hidden tests must not reveal, or as missing where there was no answer to score."""
    if is_missing and score.verdict != PASS:
        reason = f"the cell of {check.exercise} is not in the submission"
        return score_of(check, 0.0, MISSING, MISSING, measured=reason, seconds=score.seconds)
    if score.verdict in (FAIL, ERROR) and has_hidden(source):
        return _without_hidden(score, source)
    return score


def unreadable_scores(notebook: NotebookNode, reason: str) -> list[Score]:
    """Return zeros for a submission that holds no notebook."""
    return [score_of(check, 0.0, MISSING, "unreadable", measured=one_line(reason)) for check in checks_of(notebook)]


def _score_check(check: Check, run: CellRun | None, execution: Execution, answer: CellRun | None) -> Score:
    if run is None:
        return score_of(check, 0.0, NOT_REACHED, NOT_REACHED, measured=execution.reason or "the cell was not run")
    error = next((output for output in run.outputs if output["output_type"] == "error"), None)
    if run.state == DIED:
        return score_of(check, 0.0, DIED, DIED, measured="the kernel died in this check", seconds=run.seconds)
    if run.state == TIMEOUT:
        reason = execution.reason if execution.end != FINISHED else f"no end after {run.seconds:.0f} s"
        return score_of(
            check, 0.0, TIMEOUT, TIMEOUT, measured=reason, look_at=_fault_of(check, answer), seconds=run.seconds
        )
    if error is not None or run.state == ERROR:
        return _failed(check, error or {}, run, answer)
    if run.state == CHANGED:
        return _withheld(check, run, TAMPERED, "the kernel no longer ran what it was sent, or answered it twice")
    if check.is_judged:
        return _judged(check, run)
    text = "".join(str(output.get("text", "")) for output in run.outputs if output.get("name") == "stdout")
    if check.announces_pass and not PASSED_LINE.search(text):
        return _no_verdict(check, run)
    score = score_of(check, check.points, PASS, seconds=run.seconds) if check.announces_pass else _partial(check, run)
    fault = _fault_of_evidence(check, run, execution, score.points) if score.points else ""
    return _withheld(check, run, TAMPERED, fault) if fault else score


def _fault_of_evidence(check: Check, run: CellRun, execution: Execution, points: float) -> str:
    """Return why what a check shows in the kernel is no evidence; "" if nothing contradicts it."""
    results = sum(output["output_type"] == "execute_result" for output in run.outputs)
    least, most = check.results
    if not check.announces_pass and not least <= results <= most:
        return f"the cell shows {results} results, where its text shows {least if results < least else most}"
    if replaced := [*run.replaced, *execution.replaced]:
        return f"the notebook replaces {', '.join(dict.fromkeys(replaced[:3]))}"
    if run.control is not None and run.control["state"] in (DIED, STUCK, TIMEOUT):
        return "the kernel did not answer after the check"
    return "the check passes on the untouched exercise as well" if _control_earns(check, run, points) else ""


def _judged(check: Check, run: CellRun) -> Score:
    """Score a check by the verdict from outside; nothing that its cell shows counts."""
    verdict = run.verdict
    if verdict is None:
        return _no_verdict(check, run)
    if verdict["outcome"] in (TAMPERED, UNDECIDED):
        return _withheld(check, run, str(verdict["outcome"]), str(verdict["measured"]))
    if verdict["code"] == PASSED:
        measured = one_line(str(verdict["measured"]), LONGEST_FIELD)
        return score_of(check, check.points, PASS, measured=measured, seconds=run.seconds)
    expected, measured, look_at = (
        one_line(str(verdict[key]), LONGEST_FIELD) for key in ("expected", "measured", "look_at")
    )
    return score_of(
        check,
        0.0,
        FAIL,
        str(verdict["code"]),
        expected=expected,
        measured=measured,
        look_at=look_at,
        seconds=run.seconds,
    )


def _without_hidden(score: Score, source: str) -> Score:
    """Drop from a check with hidden tests all text that the learner's code, which could read them, may have chosen."""
    if score.code in ("unsolved", "no_verdict"):
        return score
    if score.code == "no_number":
        return replace(score, measured="the cell ends in no number")
    if score.code == "AssertionError":
        return replace(score, measured=safe_message(source, score.measured))
    code = score.code if hasattr(builtins, score.code) else score.verdict
    look_at = score.look_at if score.verdict == ERROR else ""
    return replace(score, code=code, expected="", measured="the check stopped", look_at=look_at)


def _withheld(check: Check, run: CellRun, verdict: str, reason: str) -> Score:
    """Withhold the points until a person has looked."""
    measured = one_line(reason, LONGEST_FIELD)
    return score_of(check, 0.0, verdict, verdict, measured=measured, seconds=run.seconds, needs_review=True)


def _not_gradable(check: Check, level: str) -> Score:
    """Leave the points to a person: the check was not run, since no answer could pass it at this level."""
    measured = f"it needs a loopback, which the sandbox {level} does not have"
    return score_of(check, None, NOT_GRADABLE, NOT_GRADABLE, measured=measured, needs_review=True)


def _control_earns(check: Check, run: CellRun, points: float) -> bool:
    """Return whether the check gave the untouched exercise as many points as the answer."""
    control = run.control
    if control is None or control["state"] != OK:
        return False
    if check.announces_pass:
        return bool(PASSED_LINE.search(control["text"]))
    return control["result"] is None or (partial_points(control["result"], check.points) or 0.0) >= points


def _no_verdict(check: Check, run: CellRun) -> Score:
    """Give nothing for a check of the course that printed no verdict, as when its cell was emptied."""
    measured = "the check ended without a verdict"
    look_at = "code that changes how cells run or print"
    return score_of(
        check,
        0.0,
        FAIL,
        "no_verdict",
        expected="a verdict",
        measured=measured,
        look_at=look_at,
        seconds=run.seconds,
        needs_review=True,
    )


def _failed(check: Check, error: dict[str, Any], run: CellRun, answer: CellRun | None) -> Score:
    name, value = str(error.get("ename", "Error")), COLOUR.sub("", str(error.get("evalue", "")))
    if name in UNSOLVED_ERRORS:
        return score_of(check, 0.0, FAIL, "unsolved", measured=f"no answer in {check.exercise}", seconds=run.seconds)
    if name == COURSE_ERROR:
        return _course_verdict(check, error, value, run)
    is_assertion = name == "AssertionError"
    measured = one_line(value or "an assertion does not hold" if is_assertion else f"{name}: {value}", LONGEST_FIELD)
    verdict = FAIL if is_assertion else ERROR
    return score_of(check, 0.0, verdict, name, measured=measured, look_at=_fault_of(check, answer), seconds=run.seconds)


def _course_verdict(check: Check, error: dict[str, Any], value: str, run: CellRun) -> Score:
    """Read the three lines of CheckFailed."""
    lines = [COLOUR.sub("", str(line)) for line in error.get("traceback", [])]
    said = {key: _line_after(lines, key) for key in ("expected", "measured", "look at")}
    code = CODE.match(value)
    name = code.group(1) if code else "failed"
    measured = said["measured"] or one_line(lines[-1] if lines else CODE.sub("", value), LONGEST_FIELD)
    look_at = said["look at"].removesuffix(f" [{name}]").rstrip()
    return score_of(
        check,
        0.0,
        FAIL,
        name,
        expected=said["expected"],
        measured=measured,
        look_at=look_at,
        seconds=run.seconds,
    )


def _line_after(lines: Sequence[str], key: str) -> str:
    text = next((line[len(key) :] for line in "\n".join(lines).splitlines() if line.startswith(f"{key}  ")), "")
    return one_line(text, LONGEST_FIELD)


def _fault_of(check: Check, answer: CellRun | None) -> str:
    """Return how the exercise's own cell ended, if that explains the check."""
    if answer is None or answer.state not in (ERROR, TIMEOUT, DIED):
        return ""
    if answer.state == TIMEOUT:
        return f"the cell of {check.exercise}: it was stopped after {answer.seconds:.0f} s"
    error = next((output for output in answer.outputs if output["output_type"] == "error"), {})
    said = f"{error.get('ename', 'an error')}: {COLOUR.sub('', str(error.get('evalue', '')))}"
    return one_line(f"the cell of {check.exercise}: it stopped with {said}", LONGEST_FIELD)


def _partial(check: Check, run: CellRun) -> Score:
    """Score an instructor's own cell: a number on its last line is its points, no result at all is full marks."""
    results = [output for output in run.outputs if output["output_type"] == "execute_result"]
    if not results:
        return score_of(check, check.points, PASS, seconds=run.seconds)
    text = str(results[-1].get("data", {}).get("text/plain", ""))
    earned = partial_points(text, check.points)
    if earned is None:
        measured = f"the cell ends in {one_line(text, 80)!r}, which is no number"
        remedy = "the instructor's cell: end it with a built-in float, or with nothing"
        return score_of(
            check, 0.0, FAIL, "no_number", measured=measured, look_at=remedy, seconds=run.seconds, needs_review=True
        )
    if earned == check.points:
        return score_of(check, earned, PASS, seconds=run.seconds)
    measured = f"the cell gives {earned:g} of {check.points:g} points"
    return score_of(check, earned, PARTIAL, PARTIAL, measured=measured, seconds=run.seconds)


def _manual(check: Check, cell: NotebookNode) -> Score:
    """Leave a cell to a person, except an untouched one, which earns nothing, as in nbgrader."""
    from nbgrader.utils import determine_grade

    points, _ = determine_grade(cell) if nbgrader_metadata(cell).get("grade") else (None, None)
    if points is not None:
        return score_of(check, float(points), MISSING, MISSING, measured="no answer was written")
    return score_of(
        check, None, MANUAL, MANUAL, measured="a person gives these points, in formgrader", needs_review=True
    )


def partial_points(text: str, most: float) -> float | None:
    """Read the points that a cell ends in, as Python, NumPy or PyTorch print them.

    Args:
        text: For example "1.5", "np.float64(1.5)" or "tensor(1.5000)".
        most: The check's points.

    Returns:
        Points between 0 and `most`, 0 for NaN; None if the text is no number.
    """
    found = SCALAR.match(text.strip()) if len(text) < 200 else None
    if found is None:
        return None
    word = found.group(1).lower()
    if word in ("true", "false"):
        return most if word == "true" else 0.0
    value = float(word)
    return 0.0 if math.isnan(value) else min(max(value, 0.0), most)
