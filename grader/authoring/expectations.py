"""Compare what an answer earned, and what it was reported as, with what its kind of answer should get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .answers import ALONE, SOLUTION, UNTOUCHED, Answer
from .banks import RIGHT, WRONG
from .errors import Problem
from .forks import CellRun, JobRun
from .lesson import Lesson

STUB_ERRORS = frozenset({"NotSolvedYet", "NotImplementedError", "CheckFailed"})
PASSED, UNSOLVED, UNRECOGNISED = "passed", "unsolved", "unrecognised"

Fault = tuple[str, str]  # fault, remedy


@dataclass(frozen=True)
class Diagnosis:
    """What one failed check reports.

    Attributes:
        code: The misconception.
        look_at: The sentence that the learner reads.
    """

    code: str
    look_at: str


@dataclass(frozen=True)
class Result:
    """What an answer earned and was reported as.

    Attributes:
        answer: The answer.
        earned: Points of the checks that it passed.
        points: Points of all checks that ran.
        reported: The code of the first failed check, or "passed".
        diagnoses: What the failed checks report, in order.
        seconds: How long the cells ran together.
        problems: What differs from what its kind of answer should get.
    """

    answer: Answer
    earned: int
    points: int
    reported: str
    diagnoses: tuple[Diagnosis, ...]
    seconds: float
    problems: tuple[Problem, ...]


def result_of(lesson: Lesson, answer: Answer, run: JobRun) -> Result:
    """Score a run by nbgrader's rule, and compare it with what its kind of answer should get.

    Args:
        lesson: The lesson.
        answer: What ran.
        run: Its cells as they ended.

    Returns:
        Points, code and problems.
    """
    labels = {label for label, _ in answer.job.cells}
    checks = {check.name: check.points for check in lesson.checks if check.name in labels}
    runs = {cell.label: cell for cell in run.cells}
    passed = {name for name in checks if name in runs and not runs[name].error_name and not runs[name].stderr}
    failed = [runs.get(name) for name in checks if name not in passed]
    faults = [*_run_faults(answer, run, set(checks)), *_FAULTS[answer.kind](lesson, answer, passed, runs)]
    return Result(
        answer=answer,
        earned=sum(checks[name] for name in passed),
        points=sum(checks.values()),
        reported=_reported(failed[0], run.ended) if failed else PASSED,
        diagnoses=tuple(Diagnosis(cell.code, cell.look_at) for cell in failed if cell and cell.look_at),
        seconds=sum(cell.seconds for cell in run.cells),
        problems=tuple(Problem(answer.path, answer.line, fault, remedy) for fault, remedy in faults),
    )


def _reported(cell: CellRun | None, ended: str) -> str:
    if cell is None:
        return ended
    return cell.code or cell.error_name or "stderr"


def _run_faults(answer: Answer, run: JobRun, checks: set[str]) -> Iterator[Fault]:
    """What no answer of any kind may do: run on without end, or break a cell that is no check."""
    if run.ended != "done":
        number = len(run.cells)
        stopped = answer.job.cells[number][0] if number < len(answer.job.cells) else "the end"
        limit = f" of {answer.job.limit_seconds:.0f} s" if run.ended == "timeout" else ""
        yield f"{answer}: {run.ended}{limit} in {stopped}", "Make the case smaller, or the answer end"
    for cell in run.cells:
        if cell.error_name and cell.label not in checks:
            fault = f"{answer}: {cell.label} stops at {cell.error_name}: {_one_line(cell.message)}"
            yield fault, "Exercises rely on given cells only; demonstrations show an answer through look(...)"


def _full_faults(lesson: Lesson, answer: Answer, passed: set[str], runs: dict[str, CellRun]) -> Iterator[Fault]:
    for check in lesson.checks_of(answer.exercise):
        cell = runs.get(check.name)
        if cell and check.name not in passed:
            fault = f"{answer} loses {check.points} points to {check.name}: {_one_line(cell.message or cell.stderr)}"
            yield fault, "Correct the check, or the answer"


def _untouched_faults(lesson: Lesson, answer: Answer, passed: set[str], runs: dict[str, CellRun]) -> Iterator[Fault]:
    for check in lesson.checks_of(answer.exercise):
        cell = runs.get(check.name)
        if check.name in passed:
            yield f"{answer} earns {check.points} points of {check.name}", "Make the check need an answer"
        elif cell and cell.error_name not in STUB_ERRORS:
            yield f"{answer}: {check.name} stops at {cell.error_name}", "Make the check recognise the stub"


def _alone_faults(lesson: Lesson, answer: Answer, passed: set[str], runs: dict[str, CellRun]) -> Iterator[Fault]:
    yield from _untouched_faults(lesson, answer, passed, runs)
    for check in lesson.checks:
        if check.exercise != answer.exercise and check.name in runs and check.name not in passed:
            message = _one_line(runs[check.name].message)
            fault = f"{answer} costs points of '{check.exercise}': {check.name}: {message}"
            yield fault, "Move what both need into a given cell"


def _wrong_faults(lesson: Lesson, answer: Answer, passed: set[str], runs: dict[str, CellRun]) -> Iterator[Fault]:
    """The first failed check is what a learner reads first, so it names the misconception; the others only fail."""
    failed = [runs[c.name] for c in lesson.checks_of(answer.exercise) if c.name in runs and c.name not in passed]
    if len(passed) == len(lesson.checks_of(answer.exercise)):
        remedy = "Make a check fail for it; if it is right on the visible case alone, add seed=20011 to its header"
        yield f"{answer} passes every check", remedy
    elif failed and failed[0].code in (UNSOLVED, UNRECOGNISED):
        yield (
            f"{answer}: {failed[0].label} reports it as '{failed[0].code}'",
            "Make the judge recognise the misconception",
        )
    elif failed and failed[0].code and failed[0].code != answer.code:
        fault = f"{answer}: {failed[0].label} reports it as '{failed[0].code}', the bank declares '{answer.code}'"
        yield fault, "Correct the judge, or declare the code if its diagnosis is the right one"
    for cell in failed:
        if not cell.code:
            yield f"{answer}: {cell.label} stops at {_one_line(_stop(cell))}", "Make the check name what is wrong"


def _stop(cell: CellRun) -> str:
    return f"{cell.error_name}: {cell.message}" if cell.error_name else f"text on stderr: {cell.stderr}"


_FAULTS = {
    SOLUTION: _full_faults,
    RIGHT: _full_faults,
    UNTOUCHED: _untouched_faults,
    ALONE: _alone_faults,
    WRONG: _wrong_faults,
}


def shared_text_problems(results: Sequence[Result]) -> list[Problem]:
    """Report each pair of codes of one exercise whose *look at* lines are the same sentence."""
    first_code: dict[tuple[str, str], str] = {}
    found: dict[tuple[str, str, str], Problem] = {}
    for result in results:
        answer = result.answer
        for diagnosis in result.diagnoses if answer.kind == WRONG else ():
            first = first_code.setdefault((answer.exercise, diagnosis.look_at), diagnosis.code)
            if first != diagnosis.code:
                fault = f"{answer}: the codes '{diagnosis.code}' and '{first}' share one sentence: {diagnosis.look_at}"
                problem = Problem(answer.path, answer.line, fault, "Give each code a diagnosis of its own in the judge")
                found.setdefault((answer.exercise, first, diagnosis.code), problem)
    return list(found.values())


def _one_line(text: str) -> str:
    return " | ".join(line.strip() for line in text.strip().splitlines() if line.strip())
