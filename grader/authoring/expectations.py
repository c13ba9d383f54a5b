"""Whether an answer earned and was told what its kind of answer should."""

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
class Result:
    """What an answer earned and was told.

    Attributes:
        answer: The answer.
        earned: Points of the checks that it passed.
        points: Points of all checks that ran.
        told: The code of the first failed check, or "passed".
        seconds: How long the cells ran together.
        problems: What is not as it should be.
    """

    answer: Answer
    earned: int
    points: int
    told: str
    seconds: float
    problems: tuple[Problem, ...]


def result_of(lesson: Lesson, answer: Answer, run: JobRun) -> Result:
    """Score a run by nbgrader's rule, and compare it with what its kind of answer should get.

    Args:
        lesson: The lesson.
        answer: What ran.
        run: What became of its cells.

    Returns:
        Points, code and problems.
    """
    labels = {label for label, _ in answer.job.cells}
    checks = {check.name: check.points for check in lesson.checks if check.name in labels}
    runs = {cell.label: cell for cell in run.cells}
    passed = {name for name in checks if name in runs and not runs[name].error_name and not runs[name].stderr}
    faults = [*_run_faults(answer, run, set(checks)), *_FAULTS[answer.kind](lesson, answer, passed, runs)]
    return Result(
        answer=answer,
        earned=sum(checks[name] for name in passed),
        points=sum(checks.values()),
        told=next((_told(runs.get(name), run.ended) for name in checks if name not in passed), PASSED),
        seconds=sum(cell.seconds for cell in run.cells),
        problems=tuple(Problem(answer.path, 0, fault, remedy) for fault, remedy in faults),
    )


def _told(cell: CellRun | None, ended: str) -> str:
    if cell is None:
        return ended
    return cell.code or cell.error_name or "stderr"


def _run_faults(answer: Answer, run: JobRun, checks: set[str]) -> Iterator[Fault]:
    """What no answer of any kind may do: not end, or break a cell that is no check."""
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
            yield f"{answer}: {check.name} stops at {cell.error_name}", "Make the check tell the stub"


def _alone_faults(lesson: Lesson, answer: Answer, passed: set[str], runs: dict[str, CellRun]) -> Iterator[Fault]:
    yield from _untouched_faults(lesson, answer, passed, runs)
    for check in lesson.checks:
        if check.exercise != answer.exercise and check.name in runs and check.name not in passed:
            told = _one_line(runs[check.name].message)
            fault = f"{answer} costs points of '{check.exercise}': {check.name}: {told}"
            yield fault, "Move what both need into a given cell"


def _wrong_faults(lesson: Lesson, answer: Answer, passed: set[str], runs: dict[str, CellRun]) -> Iterator[Fault]:
    """The first failed check is what the learner reads first: it names the mistake. The others fail as checks do."""
    failed = [runs[c.name] for c in lesson.checks_of(answer.exercise) if c.name in runs and c.name not in passed]
    if len(passed) == len(lesson.checks_of(answer.exercise)):
        yield f"{answer} passes every check", "Make a check see this mistake"
    elif failed and failed[0].code in (UNSOLVED, UNRECOGNISED):
        fault = f"{answer}: {failed[0].label} tells it '{failed[0].code}'"
        yield fault, "Make the judge recognise this mistake"
    for cell in failed:
        if not cell.code:
            yield (
                f"{answer}: {cell.label} stops at {_one_line(_stop(cell))}",
                "Make the check tell what is wrong",
            )


def _stop(cell: CellRun) -> str:
    return f"{cell.error_name}: {cell.message}" if cell.error_name else f"text on stderr: {cell.stderr}"


_FAULTS = {
    SOLUTION: _full_faults,
    RIGHT: _full_faults,
    UNTOUCHED: _untouched_faults,
    ALONE: _alone_faults,
    WRONG: _wrong_faults,
}


def shared_code_problems(results: Sequence[Result]) -> list[Problem]:
    """Tell the wrong answers to one exercise that are told the same."""
    told_first: dict[tuple[str, str], str] = {}
    problems = []
    for result in results:
        answer = result.answer
        if answer.kind == WRONG and result.told != PASSED:
            first = told_first.setdefault((answer.exercise, result.told), answer.name)
            if first != answer.name:
                fault = f"{answer} is told '{result.told}', as {first} is"
                problems.append(Problem(answer.path, 0, fault, "Make the judge tell the two mistakes apart"))
    return problems


def _one_line(text: str) -> str:
    return " | ".join(line.strip() for line in text.strip().splitlines() if line.strip())
