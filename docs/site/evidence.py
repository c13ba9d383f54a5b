"""Say what each lesson promises, and what measures it: exercises, checks, and the slips that their banks prove."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.authoring.banks import read_banks
from grader.authoring.lesson import Lesson
from grader.authoring.objectives import read_objectives

OPENING = """# Objectives and evidence

Each objective of a lesson is measured by exercises, and each exercise by checks. The last column counts the mistakes of
an exercise's bank that are reported under a name of their own; `make validate` proves each of them. An exercise of
Further is marked, because its points are not part of the mark."""
HEAD = ["| after the lesson you are able to | exercise | checks and points | mistakes proved |", "|---|---|---|---|"]


def evidence(root: Path, lessons: Sequence[Lesson]) -> str:
    """Return the page of objectives, one table for each lesson.

    Args:
        root: The repository.
        lessons: By number.
    """
    return "\n\n".join([OPENING, *(_section(root, lesson) for lesson in lessons)]) + "\n"


def _section(root: Path, lesson: Lesson) -> str:
    codes = {
        bank.exercise: {entry.code for entry in bank.entries}
        for bank in read_banks(root, lesson)
        if bank.kind == "wrong"
    }
    rows = list(HEAD)
    for objective in read_objectives(lesson):
        text = objective.text
        for exercise in objective.exercises:
            checks = lesson.checks_of(exercise)
            further = " (Further)" if any(check.is_further for check in checks) else ""
            points = ", ".join(f"`{check.name}` {check.points}" for check in checks)
            rows.append(f"| {text} | `{exercise}`{further} | {points} | {len(codes.get(exercise, ()))} |")
            text = ""
    title = f"## [{lesson.stem[:2]} {lesson.title}](lessons/{lesson.stem}.ipynb)"
    return title + "\n\n" + "\n".join(rows)
