"""What a student reads in the feedback: why points were lost, and nothing that is hidden."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nbformat.notebooknode import NotebookNode

from .execution import TAMPERED, UNDECIDED
from .master import is_answer, is_graded
from .scoring import MANUAL, PASS, Score
from .storage import one_line

HIDDEN = re.compile(r"^[^\n]*BEGIN HIDDEN TESTS.*?(?:END HIDDEN TESTS[^\n]*(?:\n|\Z)|\Z)", re.DOTALL | re.MULTILINE)
MARK_SCHEME = re.compile(r"^[^\n]*BEGIN MARK SCHEME.*?(?:END MARK SCHEME[^\n]*(?:\n|\Z)|\Z)", re.DOTALL | re.MULTILINE)
FIELDS = (("expected", "expected"), ("measured", "measured"), ("look at ", "look_at"))


def comment_on(scores: Sequence[Score]) -> str | None:
    """Return the comment below an exercise: each check that lost points, with its three lines; None if none did.

    Indented lines are code in Markdown, so text of a learner's is shown as it is.
    """
    parts = []
    for score in scores:
        if score.verdict in (PASS, MANUAL):
            continue
        if score.verdict in (TAMPERED, UNDECIDED):
            parts.append(f"`{score.check.name}`: no points yet: a person looks at this check")
            continue
        points = f"{score.points or 0:g} of {score.check.points:g} points"
        lines = [f"    {label}  {getattr(score, name)}" for label, name in FIELDS if getattr(score, name)]
        kind = score.code or score.verdict
        parts.append("\n".join([f"`{score.check.name}`: {points} ({kind})", "", *lines]))
    return "\n\n".join(parts) or None


def hide_hidden_tests(cell: NotebookNode) -> NotebookNode:
    """Cut hidden tests and mark schemes from a cell of the master, and from the traceback that would show them."""
    if is_answer(cell) and not cell.metadata.nbgrader.get("task"):
        return cell
    shown = MARK_SCHEME.sub("", HIDDEN.sub("", cell.source))
    if shown == cell.source or not is_graded(cell):
        return cell
    cell.source = shown.rstrip("\n")
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            output.traceback = [one_line(f"{output.ename}: {output.evalue}")]
    return cell
