"""Write what a student reads about lost points, and nothing that is hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from nbformat.notebooknode import NotebookNode

from grader.classroom.base.row import MANUAL, NOT_GRADABLE, PASS, Score
from grader.classroom.lesson.master import nbgrader_metadata
from grader.classroom.running.execution import TAMPERED, UNDECIDED

FIELDS = (("expected", "expected"), ("measured", "measured"), ("look at ", "look_at"))
AUTOMATIC = re.compile(r"`\w+`: [\d.]+ of [\d.]+ points \(")  # how a comment begins that no person wrote
EXPECTED = {
    "error": "the check runs to its end",
    "timeout": "the check ends within its limit of time",
    "died": "the check runs to its end, and the kernel lives on",
    "not_reached": "the notebook runs as far as this check",
    "partial": "all points of this check",
}


def comment_on(scores: Sequence[Score]) -> str | None:
    """Return the comment below an exercise: each check that lost points, with its three lines; None if none did.

    Indented lines are code in Markdown, so text of a learner's is shown as it is.
    """
    parts = []
    for score in scores:
        if score.verdict in (PASS, MANUAL):
            continue
        if score.verdict in (TAMPERED, UNDECIDED, NOT_GRADABLE):
            parts.append(f"`{score.check}`: no points yet: a person looks at this check")
            continue
        points = f"{score.points or 0:g} of {score.maximum:g} points"
        lines = [f"    {label}  {getattr(score, name)}" for label, name in FIELDS if getattr(score, name)]
        kind = score.code or score.verdict
        parts.append("\n".join([f"`{score.check}`: {points} ({kind})", "", *lines]))
    return "\n\n".join(parts) or None


def three_lines(verdict: str, exercise: str, said: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what was expected, what was measured, and where to look; none of the three is left out.

    Args:
        verdict: How the check ended.
        exercise: The exercise that it belongs to, or "".
        said: What the check itself said: expected, measured, look_at; each may be "".
    """
    answer = f"your answer to {exercise}" if exercise else "the cells above the check"
    return [
        ("expected", str(said.get("expected") or EXPECTED.get(verdict, "the check passes"))),
        ("measured", str(said.get("measured") or "it did not pass")),
        ("look at", str(said.get("look_at") or answer)),
    ]


def note_verdicts(notebook: NotebookNode, scores: Sequence[Score], key: str) -> NotebookNode:
    """Write each verdict, with its three lines, into the metadata of its cell, where the feedback page finds it."""
    known = {score.check: score for score in scores}
    for cell in notebook.cells:
        score = known.get(str(nbgrader_metadata(cell).get("grade_id", "")))
        if score is not None:
            said = {name: getattr(score, name) for _, name in FIELDS}
            cell.metadata[key] = {
                "verdict": score.verdict,
                "code": score.code,
                "exercise": score.exercise,
                **said,
            }
    return notebook
