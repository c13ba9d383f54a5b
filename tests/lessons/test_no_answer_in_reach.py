"""No answer is within reach of the function that is asked for it: a case holds inputs only."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from answer_walk import leaks_of, watch

import grader
from grader.authoring.lesson import Lesson, read_lesson

SEEDS = (0, 1, 2, 3, 20_011, *range(100, 115))
SOLUTIONS = sorted((Path(__file__).resolve().parents[2] / "solutions").glob("*.py"))


@cache
def lesson_of(stem: str) -> Lesson:
    return read_lesson(next(path for path in SOLUTIONS if path.stem == stem))


def function_of(lesson: Lesson, exercise: str) -> ast.FunctionDef:
    (cell,) = [cell for cell in lesson.cells if cell.exercise == exercise]
    return next(node for node in ast.parse(cell.source).body if getattr(node, "name", "") == exercise)


def returns_a_value(function: ast.FunctionDef) -> bool:
    """Whether a function returns something else than one of its own functions."""
    inner = {node.name for node in ast.walk(function) if isinstance(node, ast.FunctionDef)} - {function.name}
    within = {id(node) for other in ast.walk(function) if other is not function for node in _of_inner(other)}
    found = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and id(node) not in within]
    return any(value is not None and getattr(value, "id", "") not in inner for value in found)


def _of_inner(node: ast.AST) -> Iterator[ast.AST]:
    return ast.walk(node) if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef) else iter(())


ASKED = [
    pytest.param(path.stem, check.exercise, check.name, id=check.name)
    for path in SOLUTIONS
    for check in lesson_of(path.stem).checks
    if returns_a_value(function_of(lesson_of(path.stem), check.exercise))
]


def watched_answer(lesson: Lesson, exercise: str, folder: Path) -> Callable[..., Any]:
    """Build the exercise's function: what is given, the published solution by another name, and a watch around it."""
    names = ", ".join(argument.arg for argument in function_of(lesson, exercise).args.args)
    cells = [cell.source for cell in lesson.cells if cell.is_given or cell.exercise == exercise]
    source = "\n\n".join(cells).replace(f"def {exercise}(", f"def published_{exercise}(")
    source += f"\n\nfrom answer_walk import watch\n\n\ndef {exercise}({names}):\n"
    call = "torch.compiler.disable(watch)" if "torch._dynamo" in source else "watch"  # a graph cannot hold the watch
    source += f"    return {call}(published_{exercise}, {str(folder)!r}, {names})\n"
    name = f"<{lesson.stem} {exercise}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), namespace)
    answer: Callable[..., Any] = namespace[exercise]
    return answer


def run_check(check: Any, answer: Callable[..., Any], seed: int) -> None:
    """Run the observing half, under a name at which the walk up the stack stops."""
    check.__wrapped__(answer, seed)


@pytest.mark.parametrize(("stem", "exercise", "check"), ASKED)
def test_no_path_leads_to_the_answer(
    stem: str, exercise: str, check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = watched_answer(lesson_of(stem), exercise, tmp_path)
    leaks: set[str] | None = None
    for seed in SEEDS:
        run_check(getattr(grader, check), answer, seed)
        leaks = leaks_of(tmp_path)
        assert leaks is not None, "the function was never called"
        if not leaks:
            return
    assert leaks == set()


@dataclass(frozen=True)
class Leaking:
    """A case that knows its answer in every way that the walk follows."""

    number: int
    stored: tuple[int, ...] = ()

    @property
    def answer(self) -> int:
        return 3 * self.number

    def compute(self) -> int:
        return 3 * self.number

    def times(self, factor: int) -> int:
        return 3 * factor


def run_check_of_leaks(folder: Path) -> None:
    for number in (5, 7):
        case = Leaking(number, (0, 3 * number))
        watch(lambda number: 3 * number, str(folder), case.number)


def test_the_walk_finds_what_a_case_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Leaking, "__module__", "grader.lessons.leaking.cases")
    run_check_of_leaks(tmp_path)
    found = {path.partition("run_check_of_leaks: ")[2] for path in leaks_of(tmp_path) or ()}
    ways = (".answer", ".compute()", ".times(number)", ".stored[-1]", ".stored by max", ".stored by sum")
    assert {f"case{way} -> the answer" for way in ways} <= found
    assert not any(path.startswith("number") for path in found)
