"""Line up what runs in place of an exercise: the solution, the stub, and the banks."""

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
FRESH_SEED = 20011  # of a case that no answer was written for, as a class is graded on


@dataclass(frozen=True)
class Answer:
    """Something to run in place of an exercise.

    Attributes:
        kind: "solution", "untouched", "wrong", "right" or "alone unsolved".
        exercise: The exercise.
        name: The misconception or the variant; "" for the other kinds.
        path: The file that a problem names.
        line: The line that a problem names; 0 for the whole file.
        job: The cells to run.
        code: The code that it must be reported under; "" for any but a wrong answer.
    """

    kind: str
    exercise: str
    name: str
    path: Path
    line: int
    job: Job
    code: str = ""

    def __str__(self) -> str:
        """How a message names the answer."""
        return f"{self.exercise}, {self.kind} {self.name}".rstrip()


def answers_to(lesson: Lesson, exercise: str, entries: Sequence[Entry]) -> list[Answer]:
    """Line up the answers to one exercise: solution, untouched, its banks."""
    solved = lesson.cell_of(exercise)

    def line_up(kind: str, name: str, source: str, seed: int | None = None) -> Answer:
        return Answer(kind, exercise, name, lesson.path, solved.line, job_of(lesson, exercise, source, seed))

    return [
        line_up(SOLUTION, "", solved.source),
        line_up(SOLUTION, "on a fresh case", solved.source, FRESH_SEED),
        line_up(UNTOUCHED, "", stub_source(solved.source)),
        *(
            Answer(e.kind, exercise, e.name, e.path, e.line, job_of(lesson, exercise, e.source, e.seed), e.code)
            for e in entries
            if e.exercise == exercise
        ),
    ]


def job_of(lesson: Lesson, exercise: str, source: str, seed: int | None) -> Job:
    """Return the given cells, the answer and the exercise's checks in the lesson's order, up to the last check."""
    own_checks = {check.name for check in lesson.checks_of(exercise)}
    cells: list[tuple[str, str]] = []
    for index, cell in enumerate(lesson.cells):
        if cell.exercise == exercise:
            cells.append((exercise, source))
        elif cell.check in own_checks or (cell.kind == "code" and cell.is_given):
            cells.append((cell.check or f"given cell {index + 1}", cell.source))
    end = max(place for place, (label, _) in enumerate(cells, start=1) if label in own_checks)
    environment: Environment = () if seed is None else (("LEAN_TRAINING_SEED", str(seed)),)
    return Job(tuple(cells[:end]), ANSWER_LIMIT_SECONDS, environment)


def lesson_with_one_unsolved(lesson: Lesson, exercise: str) -> Answer:
    """Line up the whole lesson, solved except for one exercise."""
    cells = []
    for index, cell in enumerate(lesson.cells):
        if cell.kind == "code":
            label = cell.exercise or cell.check or f"cell {index + 1}"
            cells.append((label, stub_source(cell.source) if cell.exercise == exercise else cell.source))
    line = lesson.cell_of(exercise).line
    return Answer(ALONE, exercise, "", lesson.path, line, Job(tuple(cells), LESSON_LIMIT_SECONDS))
