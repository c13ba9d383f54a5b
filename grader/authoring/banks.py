"""The banks of a lesson: wrong and right answers, and the rules that they keep without being run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .calls import functions_named, parsed
from .errors import Problem
from .lesson import Lesson
from .normalise import normalised

WRONG, RIGHT = "wrong", "right"
FOLDERS = {WRONG: Path("tests/wrong_answers"), RIGHT: Path("tests/right_answers")}
LEAST = {WRONG: 8, RIGHT: 3}
OBLIGATORY = ("plain_baseline", "hard_coded", "copied_from_lesson")
LIBRARY_SHORTCUT = "library_shortcut"
BY_HAND = "by hand"  # an exercise whose docstring says so owes a library_shortcut
ORIGIN = "# Source: "


@dataclass(frozen=True)
class Entry:
    """One answer of a bank.

    Attributes:
        path: Its file, `<exercise>__<name>.py`.
        kind: "wrong" or "right".
        exercise: The exercise that it answers.
        name: The mistake, or the variant.
        source: The text that takes the place of the exercise cell.
    """

    path: Path
    kind: str
    exercise: str
    name: str
    source: str


def read_banks(root: Path, stem: str) -> list[Entry]:
    """Read the wrong and the right answers of a lesson, in the order of their names."""
    entries = []
    for kind, folder in FOLDERS.items():
        for path in sorted((root / folder / stem).glob("*.py")):
            exercise, _, name = path.stem.partition("__")
            entries.append(Entry(path, kind, exercise, name, path.read_text(encoding="utf-8")))
    return entries


def bank_problems(root: Path, lesson: Lesson, entries: Sequence[Entry]) -> list[Problem]:
    """Check the banks of a lesson against the rules that need no run.

    Args:
        root: The repository.
        lesson: The lesson.
        entries: Its banks.

    Returns:
        Every problem: names, origins, numbers, obligatory mistakes, right answers that are the same.
    """
    problems: list[Problem] = []
    for entry in entries:
        problems += _entry_problems(lesson, entry)
    for exercise in lesson.exercises:
        own = [entry for entry in entries if entry.exercise == exercise]
        problems += _count_problems(root, lesson, exercise, own)
        problems += _sameness_problems(lesson, exercise, [entry for entry in own if entry.kind == RIGHT])
    return problems


def _entry_problems(lesson: Lesson, entry: Entry) -> Iterator[Problem]:
    if entry.exercise not in lesson.exercises or not entry.name:
        known = ", ".join(lesson.exercises)
        yield Problem(entry.path, 0, "the name fits no exercise", f"Name it <exercise>__<mistake>.py, of {known}")
    elif parsed(entry.source) is None or not functions_named(entry.source, entry.exercise):
        yield Problem(entry.path, 0, f"defines no function '{entry.exercise}'", "Write the exercise's whole cell")
    if entry.kind == WRONG and not entry.source.startswith(ORIGIN):
        yield Problem(entry.path, 1, "does not say where the mistake comes from", f"Start it with '{ORIGIN}...'")


def _count_problems(root: Path, lesson: Lesson, exercise: str, own: Sequence[Entry]) -> Iterator[Problem]:
    for kind, least in LEAST.items():
        number = sum(entry.kind == kind for entry in own)
        folder = root / FOLDERS[kind] / lesson.stem
        if number < least:
            fault = f"'{exercise}' has {number} {kind} answers, where {least} are the least"
            yield Problem(folder, 0, fault, f"Add {exercise}__*.py")
    names = {entry.name for entry in own if entry.kind == WRONG}
    cell = next(cell for cell in lesson.cells if cell.exercise == exercise)
    is_by_hand = BY_HAND in " ".join(cell.source.split()).lower()
    for name in (*OBLIGATORY, *([LIBRARY_SHORTCUT] if is_by_hand else [])):
        if name not in names:
            path = root / FOLDERS[WRONG] / lesson.stem / f"{exercise}__{name}.py"
            yield Problem(path, 0, "an obligatory wrong answer is missing", "Add it")


def _sameness_problems(lesson: Lesson, exercise: str, right: Sequence[Entry]) -> Iterator[Problem]:
    cell = next(cell for cell in lesson.cells if cell.exercise == exercise)
    seen = {normalised(cell.source): "the solution"}
    for entry in right:
        if parsed(entry.source) is None:
            continue
        form = normalised(entry.source)
        if form in seen:
            yield Problem(entry.path, 0, f"is the same answer as {seen[form]}", "Solve the exercise in another way")
        seen.setdefault(form, entry.path.name)
