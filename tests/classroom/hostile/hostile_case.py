"""What a case of the hostile class is: a submission, and what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hostile_lesson import ALL_WRONG, LESSON, RIGHT, handed_in
from nbformat.notebooknode import NotebookNode
from small_course import hand_in

FULL = (2.0, 3.0, 4.0, 1.0)
NOTHING = (0.0, 0.0, 0.0, 0.0)
Points = tuple[float, float, float, float]


@dataclass(frozen=True)
class Room:
    """Where a case is handed in.

    Attributes:
        folder: The classroom.
        release: The lesson as it was handed out.
        student: The case's name.
    """

    folder: Path
    release: NotebookNode
    student: str

    def solved(self, own: Mapping[str, list[str]] | None = None, **answers: str) -> NotebookNode:
        """Return a solved notebook with some other answers and own cells."""
        return handed_in(self.release, {**RIGHT, **answers}, own)

    def wrong(self, own: Mapping[str, list[str]] | None = None, **answers: str) -> NotebookNode:
        """Return a notebook whose answers are wrong, except some."""
        return handed_in(self.release, {**ALL_WRONG, **answers}, own)

    def hand_in(self, content: NotebookNode | str | bytes, name: str = f"{LESSON}.ipynb") -> Path:
        """Put a file where the student's submission belongs."""
        return hand_in(self.folder, self.student, content, name, LESSON)


Submit = Callable[[Room], NotebookNode | None]


@dataclass(frozen=True)
class Case:
    """One submission and its right outcome.

    Attributes:
        submit: Returns the notebook, or hands in what is none.
        number: The row of the survey's table, "" for a case beyond it.
        points: Of q1 to q4; where a level has no loopback, q4 is not gradable whatever its answer.
        verdicts: Of some checks, where points do not tell them: {1: "tampered"}.
        status: Of the row.
        reason: What the row or one of its checks says.
        at: Points at single levels, where they differ.
        silent: Whether the row has no note and no flag.
    """

    submit: Submit
    number: str
    points: Points
    verdicts: Mapping[int, str] = field(default_factory=dict)
    status: str = "graded"
    reason: str = ""
    at: Mapping[str, Points] = field(default_factory=dict)
    silent: bool = False

    @property
    def name(self) -> str:
        return self.submit.__name__


CASES: dict[str, Case] = {}


def case(
    number: str,
    points: Points,
    *,
    verdicts: Mapping[int, str] | None = None,
    status: str = "graded",
    reason: str = "",
    at: Mapping[str, Points] | None = None,
    silent: bool = False,
) -> Callable[[Submit], Submit]:
    """Register a case: number, points of q1 to q4, and what else the row says."""

    def register(submit: Submit) -> Submit:
        found = Case(submit, number, points, verdicts or {}, status, reason, at or {}, silent)
        assert found.name not in CASES
        CASES[found.name] = found
        return submit

    return register
