"""Send what a run has emitted to a judge, a process without any learner's code, and note its verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nbformat.notebooknode import NotebookNode

from grader.classroom.base.errors import ClassroomError
from grader.classroom.lesson.master import judged_check
from grader.classroom.running.execution import OK, TAMPERED, UNDECIDED, CellRun, Execution
from grader.verdict import PASSED

from .claims import Claim, claims_fault, smallness_fault
from .judge_process import JudgeStopped, borrowed_judge

LINES = (("expected", "expected"), ("measured", "measured"), ("look at", "look_at"))


def judge_execution(notebook: NotebookNode, execution: Execution, seed: int) -> Execution:
    """Have every check of the course that emitted an observation judged.

    Args:
        notebook: The notebook that was run, made of the master's cells.
        execution: What it did.
        seed: Seed of the cases, as the kernel had it.

    Returns:
        The same run with a verdict for each of these checks, shown in the cell's outputs, and without observations.

    Raises:
        ClassroomError: if no judge can be started.
    """
    cells = dict(execution.cells)
    notes, is_final = list(execution.notes), execution.is_final
    for index, run in execution.cells.items():
        check = judged_check(notebook.cells[index]) if index < len(notebook.cells) else None
        if check is not None and run.state == OK and run.observations:
            run, more = _judged(check, run, seed)
            notes += [note for note in more if note not in notes]
            is_final = is_final and (run.verdict or {})["outcome"] != UNDECIDED  # another time the judge may answer
        cells[index] = replace(run, observations=[], steps=None)
    return replace(execution, cells=cells, notes=notes, is_final=is_final)


def _judged(check: str, run: CellRun, seed: int) -> tuple[CellRun, list[str]]:
    """Return the run of one check with its verdict, and what the instructor may want to know."""
    if run.replaced:
        return _with_verdict(run, _tampered(f"the notebook replaces {', '.join(run.replaced[:3])}")), []
    if len(run.observations) > 1:
        return _with_verdict(run, _tampered(f"{len(run.observations)} observations from one check")), []
    answer = _ask(check, seed, run.observations[0])
    if "verdict" not in answer:
        verdict = _tampered(answer["malformed"]) if "malformed" in answer else _undecided(answer["failed"])
        return _with_verdict(run, verdict), []
    claims = [Claim(**claim) for claim in answer["claims"]]
    fault, notes = claims_fault(claims, run.steps)
    verdict = {"outcome": "judged", **answer["verdict"]}
    if verdict["code"] == PASSED:
        fault = fault or smallness_fault(claims)
    if fault:
        verdict = _tampered(fault)
    elif verdict["code"] == PASSED and _control_passes(check, run, seed):
        verdict = _tampered("the check passes on the untouched exercise as well")
    return _with_verdict(run, verdict), [f"{check}: {note}" for note in notes]


def _control_passes(check: str, run: CellRun, seed: int) -> bool:
    """Return whether the check, asked about the stub, neither failed nor emitted what a judge fails."""
    control = run.control
    if control is None or control["state"] != OK:
        return False
    answers = [_ask(check, seed, observation) for observation in control["observations"]]
    return all(answer.get("verdict", {}).get("code") == PASSED for answer in answers)


def _ask(check: str, seed: int, observation: str | None) -> dict[str, Any]:
    if observation is None:
        return {"malformed": "an observation that is too large, or no text"}
    try:
        with borrowed_judge() as judge:
            answer = judge.ask(check, seed, observation)
    except JudgeStopped as error:
        answer = {"failed": f"the judge took too long, or ended{f': {error}' if str(error) else ''}"}
    failure = answer.get("failed", "")
    if "ModuleNotFoundError" in failure:
        raise ClassroomError(
            f"The judge cannot be started: {failure}. Install what the course needs with "
            "`pip install 'lean-training[train]'`, then grade again."
        )
    return answer


def _tampered(reason: str) -> dict[str, Any]:
    return {"outcome": TAMPERED, "code": TAMPERED, "expected": "", "measured": reason, "look_at": ""}


def _undecided(reason: str) -> dict[str, Any]:
    return {"outcome": UNDECIDED, "code": UNDECIDED, "expected": "", "measured": reason, "look_at": ""}


def _with_verdict(run: CellRun, verdict: Mapping[str, Any]) -> CellRun:
    """Show the verdict in place of the observation, as the check itself does in a learner's notebook."""
    output: dict[str, Any]
    if verdict["outcome"] in (TAMPERED, UNDECIDED):
        line = "no verdict yet: a person looks at this check\n"
        output = {"output_type": "stream", "name": "stdout", "text": line}
    elif verdict["code"] == PASSED:
        output = {"output_type": "stream", "name": "stdout", "text": f"passed: {verdict['measured']}\n"}
    else:
        lines = [f"{name:<10}{verdict[key]}" for name, key in LINES]
        value = f"[{verdict['code']}] {verdict['measured']}"
        output = {"output_type": "error", "ename": "CheckFailed", "evalue": value, "traceback": lines}
    return replace(run, outputs=[*run.outputs, output], verdict=dict(verdict))
