"""Tie what a lesson promises to the exercises that measure it.

The text cell that begins with "**You will be able to**" has a bullet for each objective. Its cell key says by which
exercises each is measured, by their numbers in the lesson: `objectives="1; 2 3; 4"`, in the order of the bullets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .lesson import Lesson
from .source import SourceCell

OPENING = "**You will be able to**"
BULLET = re.compile(r"^- (.+(?:\n  +\S.*)*)", re.MULTILINE)
REMEDY = 'Write objectives="1; 2 3; 4": for each bullet the numbers of its exercises'

Fault = tuple[int, str, str]  # line, fault, remedy


@dataclass(frozen=True)
class Objective:
    """What a learner can do after a lesson.

    Attributes:
        text: The bullet.
        exercises: The exercises that measure it.
    """

    text: str
    exercises: tuple[str, ...]


def read_objectives(lesson: Lesson) -> tuple[Objective, ...]:
    """Return the objectives of a lesson whose objectives have no faults; () if it states none."""
    return tuple(
        Objective(text, tuple(lesson.exercises[int(number) - 1] for number in numbers))
        for cell in lesson.cells
        if _states(cell)
        for text, numbers in zip(_bullets(cell), _groups(cell), strict=True)
    )


def objective_faults(lesson: Lesson) -> Iterator[Fault]:
    """Yield what is wrong with the objectives: each has an exercise, and each exercise of the core serves one."""
    further = {check.exercise for check in lesson.checks if check.is_further}
    for cell in lesson.cells:
        if not _states(cell):
            if "objectives" in cell.keys:
                yield cell.line, "objectives on a cell that states none", f"Move the key to the cell with {OPENING}"
            continue
        bullets, groups = _bullets(cell), _groups(cell)
        if len(bullets) != len(groups):
            yield cell.line, f"{len(bullets)} objectives, and exercises for {len(groups)}", REMEDY
            continue
        for text, numbers in zip(bullets, groups, strict=True):
            if not numbers:
                yield cell.line, f"no exercise measures the objective '{text}'", REMEDY
        known = {str(number): name for number, name in enumerate(lesson.exercises, start=1)}
        named = {number for numbers in groups for number in numbers}
        for number in sorted(named - set(known)):
            yield cell.line, f"an objective names exercise {number}, and the lesson has 1 to {len(known)}", REMEDY
        for number, name in known.items():
            if number not in named and name not in further:
                yield cell.line, f"exercise {number}, '{name}', serves no objective", "Name it, or move it to Further"


def _states(cell: SourceCell) -> bool:
    return cell.kind == "markdown" and cell.source.startswith(OPENING)


def _bullets(cell: SourceCell) -> list[str]:
    return [" ".join(text.split()).rstrip(".;") for text in BULLET.findall(cell.source)]


def _groups(cell: SourceCell) -> list[tuple[str, ...]]:
    return [tuple(group.split()) for group in str(cell.keys.get("objectives", "")).split(";")]
