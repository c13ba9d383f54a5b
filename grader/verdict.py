"""The verdict of a judge on one observation, and the three lines that a learner reads."""

from __future__ import annotations

from dataclasses import dataclass

PASSED = "passed"
UNSOLVED = "unsolved"
UNRECOGNISED = "unrecognised"


@dataclass(frozen=True)
class Verdict:
    """The verdict of a judge on one observation.

    Attributes:
        code: "passed", or the stable name of the misconception, or "unrecognised".
        expected: What was expected, with its unit.
        measured: What was measured, with its unit.
        look_at: The diagnosis, and where the learner looks next; empty for a pass.
    """

    code: str
    expected: str
    measured: str
    look_at: str = ""

    @property
    def is_passed(self) -> bool:
        """Whether the observation earns the points of its check."""
        return self.code == PASSED


class CheckFailed(AssertionError):
    """A check that did not pass; a notebook shows it as three lines and no traceback."""

    def __init__(self, verdict: Verdict):
        self.code = verdict.code
        self.expected = verdict.expected
        self.measured = verdict.measured
        self.look_at = verdict.look_at
        super().__init__(f"[{self.code}] {self.measured}")

    def lines(self) -> list[str]:
        """Return the three lines: expected, measured, look at; the misconception's code ends the third."""
        look_at = f"{self.look_at}  [{self.code}]".lstrip()
        return [f"expected  {self.expected}", f"measured  {self.measured}", f"look at   {look_at}"]

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines instead of a traceback."""
        return self.lines()


class NotSolvedYet(CheckFailed):
    """The exercise still holds the stub; a notebook shows one line."""

    def __init__(self, exercise: str):
        self.exercise = exercise
        super().__init__(Verdict(UNSOLVED, f"an answer in {exercise}", "the untouched stub", f"the cell of {exercise}"))

    def lines(self) -> list[str]:
        """Return the one line."""
        return [
            f"not solved yet: {self.exercise}. Write your answer in its cell, run the cell, then run this check again."
        ]
