"""Prove that the checks of a lesson tell right answers from wrong ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.command_line import count

from .answers import answers_to, lesson_with_one_unsolved
from .banks import WRONG, Entry, bank_problems, read_banks
from .errors import Problem
from .executed import disturbances, earned_points, execute
from .expectations import STUB_ERRORS, Result, result_of, shared_code_problems
from .forks import ForkPool
from .lesson import Lesson, build_master, build_release, read_lesson
from .release import select_sources
from .table import print_exercise, print_notebook, print_problems
from .validated import Validated, content_hash, write_record


@dataclass(frozen=True)
class LessonReport:
    """What validation found out about one lesson.

    Attributes:
        stem: The lesson.
        results: What each answer earned and was told.
        problems: What is not as it should be; empty for a lesson that can be released.
    """

    stem: str
    results: tuple[Result, ...]
    problems: tuple[Problem, ...]

    def one_per_message(self) -> dict[str, str]:
        """For each misconception code, the file name of one wrong answer that is told it."""
        wrong = [result for result in self.results if result.answer.kind == WRONG]
        return {result.told: result.answer.path.name for result in reversed(wrong)}


def validate(root: Path, lessons: Sequence[str], *, processes: int = 2) -> int:
    """Validate lessons, print what was found, and remember the lessons where all is well.

    Args:
        root: The repository.
        lessons: Numbers or stems; all where none is named.
        processes: How many answers run at a time.

    Returns:
        0, or 1 where anything is not as it should be.
    """
    start_seconds = time.monotonic()
    reports = [validate_lesson(root, source, processes=processes) for source in select_sources(root, lessons)]
    problems = [problem for report in reports for problem in report.problems]
    print_problems(problems)
    answers = sum(len(report.results) for report in reports)
    seconds = time.monotonic() - start_seconds
    counts = (count(len(reports), "lesson"), count(answers, "answer"), count(len(problems), "problem"))
    print(f"validate: {', '.join(counts)}, {seconds:.0f} s")
    whole = [report for report in reports if not report.problems]
    if whole:
        write_record(root, {r.stem: Validated(content_hash(root, r.stem), r.one_per_message()) for r in whole})
    return int(bool(problems))


def validate_lesson(root: Path, source: Path, *, processes: int = 2) -> LessonReport:
    """Validate one lesson: both notebooks in a kernel, the banks, and each exercise alone unsolved.

    Args:
        root: The repository, with `tests/wrong_answers` and `tests/right_answers`.
        source: The lesson's source.
        processes: How many answers run at a time.

    Returns:
        Results and problems; a table is printed on the way.

    Raises:
        BuildError: if the source cannot be built.
    """
    lesson = read_lesson(source)
    entries = read_banks(root, lesson.stem)
    print(lesson.stem, flush=True)
    problems = [*_notebook_problems(lesson), *bank_problems(root, lesson, entries)]
    banks = try_answers(lesson, entries, processes=processes, is_whole=True)
    return LessonReport(lesson.stem, banks.results, (*problems, *banks.problems))


def try_answers(
    lesson: Lesson, entries: Sequence[Entry], *, processes: int = 2, is_whole: bool = False
) -> LessonReport:
    """Run solution, stub and bank entries of each exercise in forks of a warm process.

    Args:
        lesson: The lesson.
        entries: The answers to try; exercises without any are left out, unless the whole lesson runs.
        processes: How many answers run at a time.
        is_whole: Whether every exercise runs, and the whole lesson too, once with each exercise alone unsolved.

    Returns:
        Results and problems; a table is printed on the way.
    """
    results: list[Result] = []
    with ForkPool(processes, [cell.source for cell in lesson.cells if cell.kind == "code"]) as pool:
        answered = {entry.exercise for entry in entries}
        for exercise in lesson.exercises:
            if exercise not in answered and not is_whole:
                continue
            answers = answers_to(lesson, exercise, entries)
            answers += [lesson_with_one_unsolved(lesson, exercise)] if is_whole else []
            runs = pool.run_all([answer.job for answer in answers])
            tried = (result_of(lesson, answer, run) for answer, run in zip(answers, runs, strict=True))
            results += print_exercise(lesson, exercise, tried)
    problems = [problem for result in results for problem in result.problems]
    return LessonReport(lesson.stem, tuple(results), (*problems, *shared_code_problems(results)))


def _notebook_problems(lesson: Lesson) -> list[Problem]:
    """Run the solved notebook and the release in a kernel, and tell what is not as it should be."""
    points = sum(check.points for check in lesson.checks)
    faults: list[tuple[str, str]] = []
    for name, notebook, target in (
        ("solved", build_master(lesson.path), points),
        ("untouched", build_release(lesson.path), 0),
    ):
        executed = execute(notebook)
        earned = sum(earned_points(executed.notebook).values())
        print_notebook(name, earned, points, executed.seconds)
        if earned != target:
            faults.append((f"the {name} notebook earns {earned} of {points} points", f"It should earn {target}"))
        for found in disturbances(executed.notebook):
            if name == "untouched" and found.is_check and found.name in STUB_ERRORS:
                continue
            fault = f"the {name} notebook: cell {found.cell_index + 1}: {found.name}: {found.text}"
            faults.append((fault, "Only checks may fail, and only of an unsolved exercise; they write no stderr"))
    return [Problem(lesson.path, 0, fault, remedy) for fault, remedy in faults]
