"""Build the section of the class report on what a lesson promised: who shows each objective in all of its exercises."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from .analysis import LessonFigures, is_known
from .blocks import NUMBER, TEXT, Block, Heading, Paragraph, Table


def objectives(figures: LessonFigures) -> list[Block]:
    """Return success by objective; [] for a lesson that states none, or that nobody handed in."""
    rows = [
        (text[:1].upper() + text[1:], ", ".join(exercises), f"{shown} of {of} ({100 * shown / of:.0f}\u00a0%)")
        for text, exercises, shown, of in judged_objectives(figures)
    ]
    if not rows:
        return []
    columns = [("the lesson promises", TEXT), ("measured by", TEXT), ("full points in all of them", NUMBER)]
    note = Paragraph("An objective counts where every check of its exercises has full points.", "note")
    return [Heading(3, "Success by objective"), Table("Success by objective", columns, rows), note]


def judged_objectives(figures: LessonFigures) -> list[tuple[str, list[str], int, int]]:
    """Return for each objective its text, its exercises, how many students show it, and how many were judged."""
    found = []
    for objective in _stated().get(figures.lesson, ()):
        shown = [
            [not check.is_lost for check in row.checks if check.exercise in objective["exercises"] and is_known(check)]
            for row in figures.graded
        ]
        judged = [all(passed) for passed in shown if passed]
        if judged:
            text = objective["text"].replace("`", "").replace("**", "")
            found.append((text, list(objective["exercises"]), sum(judged), len(judged)))
    return found


@functools.cache
def _stated() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    lessons = json.loads((files("grader") / "lessons.json").read_text(encoding="utf-8"))
    return {lesson: entry.get("objectives", ()) for lesson, entry in lessons.items()}
