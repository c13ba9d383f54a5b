"""What runs in place of an exercise: the solution, the stub, and the banks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .banks import Entry
from .forks import Environment, Job
from .lesson import Lesson
from .notebook import stub_source

SOLUTION, UNTOUCHED, ALONE = "solution", "untouched", "alone unsolved"
ANSWER_LIMIT_SECONDS, LESSON_LIMIT_SECONDS = 120, 300  # an answer on ranks starts processes of its own
FRESH_SEED = (("LEAN_TRAINING_SEED", "20011"),)  # a case that no answer was written for, as a class is graded on
HARD_CODED = "hard_coded"  # right on the visible case by definition, so it runs on the fresh one


@dataclass(frozen=True)
class Answer:
    """Something to run in place of an exercise.

    Attributes:
        kind: "solution", "untouched", "wrong", "right" or "alone unsolved".
        exercise: The exercise.
        name: The mistake or the variant, "" for the other kinds.
        path: The file that a problem is told of.
        job: The cells to run.
    """

    kind: str
    exercise: str
    name: str
    path: Path
    job: Job

    def __str__(self) -> str:
        """How a message names the answer."""
        return f"{self.exercise}, {self.kind} {self.name}".rstrip()


def answers_to(lesson: Lesson, exercise: str, entries: Sequence[Entry]) -> list[Answer]:
    """Line up the answers to one exercise: solution, untouched, its banks."""
    solved = next(cell.source for cell in lesson.cells if cell.exercise == exercise)

    def line_up(kind: str, name: str, path: Path, source: str, environment: Environment = ()) -> Answer:
        job = Job(_cells(lesson, exercise, source), ANSWER_LIMIT_SECONDS, environment)
        return Answer(kind, exercise, name, path, job)

    return [
        line_up(SOLUTION, "", lesson.path, solved),
        line_up(SOLUTION, "on a fresh case", lesson.path, solved, FRESH_SEED),
        line_up(UNTOUCHED, "", lesson.path, stub_source(solved)),
        *(
            line_up(e.kind, e.name, e.path, e.source, FRESH_SEED if e.name == HARD_CODED else ())
            for e in entries
            if e.exercise == exercise
        ),
    ]


def _cells(lesson: Lesson, exercise: str, source: str) -> tuple[tuple[str, str], ...]:
    """The given cells, the answer, and the checks of its exercise, in the lesson's order, up to the last check."""
    own_checks = {check.name for check in lesson.checks_of(exercise)}
    cells: list[tuple[str, str]] = []
    for index, cell in enumerate(lesson.cells):
        if cell.exercise == exercise:
            cells.append((exercise, source))
        elif cell.check in own_checks or (cell.kind == "code" and cell.is_given):
            cells.append((cell.check or f"given cell {index + 1}", cell.source))
    end = max(place for place, (label, _) in enumerate(cells, start=1) if label in own_checks)
    return tuple(cells[:end])


def lesson_with_one_unsolved(lesson: Lesson, exercise: str) -> Answer:
    """Line up the whole lesson, solved but for one exercise."""
    cells = []
    for index, cell in enumerate(lesson.cells):
        if cell.kind == "code":
            label = cell.exercise or cell.check or f"cell {index + 1}"
            cells.append((label, stub_source(cell.source) if cell.exercise == exercise else cell.source))
    return Answer(ALONE, exercise, "", lesson.path, Job(tuple(cells), LESSON_LIMIT_SECONDS))
