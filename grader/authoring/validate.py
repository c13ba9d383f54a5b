"""Prove that the checks of a lesson pass right answers and name the misconception of wrong ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from grader.command_line import count

from .answers import SOLUTION, answers_to, lesson_with_one_unsolved
from .bank_rules import bank_problems
from .banks import WRONG, Bank, Entry, read_banks
from .errors import AuthoringError, BuildError, Problem
from .exam import exam_problems
from .executed import disturbances, earned_points, execute
from .expectations import STUB_ERRORS, Result, result_of, shared_text_problems
from .forks import ForkPool
from .lesson import Lesson, build_master, build_release, read_lesson
from .release import select_sources
from .table import print_exercise, print_notebook, print_problems
from .validated import Validated, content_hash, write_record

BankedLesson = tuple[Lesson, list[Bank]]


@dataclass(frozen=True)
class LessonReport:
    """The result of validating one lesson.

    Attributes:
        stem: The lesson.
        results: What each answer earned and was reported as.
        problems: What has to be corrected; empty for a lesson that can be released.
    """

    stem: str
    results: tuple[Result, ...]
    problems: tuple[Problem, ...]

    def one_per_code(self) -> dict[str, dict[str, str]]:
        """For each exercise and each code, the name of one wrong answer that is reported under it."""
        chosen: dict[str, dict[str, str]] = {}
        for result in self.results:
            if result.answer.kind == WRONG:
                chosen.setdefault(result.answer.exercise, {}).setdefault(result.reported, result.answer.name)
        return chosen


def validate(root: Path, lessons: Sequence[str], exercises: Sequence[str] = (), *, processes: int = 2) -> int:
    """Validate lessons, print the results, and record the lessons that have no problem.

    Args:
        root: The repository.
        lessons: Numbers or stems; all if none is named.
        exercises: The exercises whose banks are run; where any is named, nothing else is run and nothing is recorded.
        processes: How many answers run at a time.

    Returns:
        0, or 1 if there is any problem.

    Raises:
        BuildError: with every fault of form in the sources and the banks, before anything is run.
        AuthoringError: if a lesson or an exercise does not exist.
    """
    start_seconds = time.monotonic()
    banked = _read(root, select_sources(root, lessons))
    if exercises:
        reports = _validate_exercises(banked, exercises, processes)
    else:
        reports = [_validate_and_record(root, lesson, banks, processes) for lesson, banks in banked]
    problems = [problem for report in reports for problem in report.problems]
    print_problems(problems)
    answers = sum(len(report.results) for report in reports)
    seconds = time.monotonic() - start_seconds
    counts = (count(len(reports), "lesson"), count(answers, "answer"), count(len(problems), "problem"))
    print(f"validate: {', '.join(counts)}, {seconds:.0f} s")
    return int(bool(problems))


def _validate_and_record(root: Path, lesson: Lesson, banks: Sequence[Bank], processes: int) -> LessonReport:
    """Validate one lesson, and record it at once as it was when its validation began."""
    content = content_hash(root, lesson.stem)
    report = validate_lesson(lesson, banks, processes=processes)
    report = replace(report, problems=(*report.problems, *exam_problems(root, lesson.stem)))
    if not report.problems:
        write_record(root, {lesson.stem: Validated(content, report.one_per_code())})
    return report


def _read(root: Path, sources: Sequence[Path]) -> list[BankedLesson]:
    """Read lessons and their banks, and report the faults of all of them together."""
    banked: list[BankedLesson] = []
    problems: list[Problem] = []
    for source in sources:
        try:
            lesson = read_lesson(source)
            banked.append((lesson, read_banks(root, lesson)))
        except BuildError as error:
            problems += error.problems
    if problems:
        raise BuildError(problems)
    return banked


def _validate_exercises(banked: Sequence[BankedLesson], names: Sequence[str], processes: int) -> list[LessonReport]:
    """Run the banks of some exercises alone."""
    known = {exercise for lesson, _ in banked for exercise in lesson.exercises}
    for name in names:
        if name not in known:
            raise AuthoringError(
                f"no exercise '{name}' in the lessons named. Exercises there: {', '.join(sorted(known))}."
            )
    reports = []
    for lesson, banks in banked:
        chosen = [bank for bank in banks if bank.exercise in names]
        if chosen:
            print(lesson.stem, flush=True)
            with warm_pool([lesson], processes) as pool:
                tried = try_answers(lesson, entries_of(chosen), pool)
            problems = (*bank_problems(lesson, chosen), *tried.problems)
            reports.append(LessonReport(lesson.stem, tried.results, problems))
    return reports


def entries_of(banks: Sequence[Bank]) -> list[Entry]:
    """Return the answers of some banks in order."""
    return [entry for bank in banks for entry in bank.entries]


def validate_lesson(lesson: Lesson, banks: Sequence[Bank], *, processes: int = 2) -> LessonReport:
    """Validate one lesson: both notebooks in a kernel, the banks, and each exercise alone unsolved.

    Args:
        lesson: The lesson.
        banks: Its banks.
        processes: How many answers run at a time.

    Returns:
        Results and problems; a table is printed on the way.
    """
    print(lesson.stem, flush=True)
    problems = [*_notebook_problems(lesson), *bank_problems(lesson, banks)]
    with warm_pool([lesson], processes) as pool:
        tried = try_answers(lesson, entries_of(banks), pool, is_whole=True)
    return LessonReport(lesson.stem, tried.results, (*problems, *tried.problems))


def warm_pool(lessons: Sequence[Lesson], processes: int) -> ForkPool:
    """Return processes that have imported what the lessons import; a context manager."""
    return ForkPool(processes, [cell.source for lesson in lessons for cell in lesson.cells if cell.kind == "code"])


def try_answers(lesson: Lesson, entries: Sequence[Entry], pool: ForkPool, *, is_whole: bool = False) -> LessonReport:
    """Run solution, stub and bank entries of each exercise in forks of a warm process.

    The solutions run first: where one of them fails, the check is at fault, and no other answer is tried on it.

    Args:
        lesson: The lesson.
        entries: The answers to try; exercises without any are left out, unless the whole lesson runs.
        pool: Where they run; see `warm_pool`.
        is_whole: Whether every exercise runs, and the whole lesson too, once with each exercise alone unsolved.

    Returns:
        Results and problems; a table is printed on the way.
    """
    answered = {entry.exercise for entry in entries}
    exercises = [exercise for exercise in lesson.exercises if is_whole or exercise in answered]
    answers = [answer for exercise in exercises for answer in answers_to(lesson, exercise, entries)]
    solutions = [answer for answer in answers if answer.kind == SOLUTION]
    solved = list(map(partial(result_of, lesson), solutions, pool.run_all([answer.job for answer in solutions])))
    results: list[Result] = []
    problems: list[Problem] = []
    for exercise in exercises:
        own = [result for result in solved if result.answer.exercise == exercise]
        others = [answer for answer in answers if answer.exercise == exercise and answer.kind != SOLUTION]
        others += [lesson_with_one_unsolved(lesson, exercise)] if is_whole else []
        if any(result.problems for result in own):
            fault = f"{exercise}: {count(len(others), 'other answer')} of it did not run, because its solution fails"
            problems.append(Problem(lesson.path, lesson.cell_of(exercise).line, fault, "Mend that first"))
            others = []
        tried = map(partial(result_of, lesson), others, pool.run_all([answer.job for answer in others]))
        results += print_exercise(lesson, exercise, chain(own, tried))
    problems = [*(problem for result in results for problem in result.problems), *problems]
    return LessonReport(lesson.stem, tuple(results), (*problems, *shared_text_problems(results)))


def _notebook_problems(lesson: Lesson) -> list[Problem]:
    """Run the solved notebook and the release in a kernel, and compare points and errors with what they should be."""
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
