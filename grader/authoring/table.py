"""Print what `validate` finds, line by line as it becomes known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .answers import ALONE
from .errors import Problem
from .expectations import Result
from .lesson import Lesson

NAME_WIDTH, POINTS_WIDTH, CODE_WIDTH = 44, 10, 46


def print_notebook(name: str, earned: int, points: int, seconds: float) -> None:
    """Print the line of a whole notebook that ran in a kernel."""
    print(f"  {name + ' notebook in a kernel':{NAME_WIDTH}}{earned} of {points:<6} {seconds:6.1f} s", flush=True)


def print_exercise(lesson: Lesson, exercise: str, results: Iterable[Result]) -> list[Result]:
    """Print the table of one exercise, each line when its answer has run.

    Args:
        lesson: The lesson.
        exercise: The exercise.
        results: Its results, given as they come.

    Returns:
        The results.
    """
    checks = ", ".join(f"{check.name} {check.points}" for check in lesson.checks_of(exercise))
    print(f"\n  {exercise}: {checks}", flush=True)
    print(_line("answer", "points", "declared", "reported") + "seconds")
    shown = []
    for result in results:
        answer = result.answer
        name = "whole lesson, this alone unsolved" if answer.kind == ALONE else f"{answer.kind:8} {answer.name}"
        fault = "  <- problem" if result.problems else ""
        line = _line(name.rstrip(), f"{result.earned} of {result.points}", answer.code, result.reported)
        print(f"{line}{result.seconds:7.1f}{fault}", flush=True)
        shown.append(result)
    return shown


def _line(name: str, points: str, declared: str, reported: str) -> str:
    return f"    {name:{NAME_WIDTH}}{points:{POINTS_WIDTH}}{declared:{CODE_WIDTH}}{reported:{CODE_WIDTH}}"


def print_problems(problems: Sequence[Problem]) -> None:
    """Print every problem, one a line."""
    print("\nproblems:" if problems else "")
    for problem in problems:
        print(f"  {problem}")
