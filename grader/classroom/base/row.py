"""The results of grading: the score of a check, the row of a submission, and the file with the rows of a class."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from .errors import ClassroomError
from .storage import one_line

GRADED, STOPPED, UNREADABLE, FAILED = "graded", "stopped", "unreadable", "failed"
MISSING = "missing"  # on the roster, and nothing was handed in
FORMAT = 1
CORE, FURTHER = "core", "further"  # the parts of a lesson: the mark, and what does not count for it
PASS, FAIL, PARTIAL, MANUAL = "pass", "fail", "partial", "manual"
NOT_GRADABLE = "not_gradable"  # at the sandbox level of this run


@dataclass(frozen=True)
class Score:
    """The result of one check for one submission.

    Attributes:
        check: The check's name.
        exercise: The exercise that it belongs to, or "".
        part: "core" or "further".
        maximum: The most that it gives.
        points: Points earned, between 0 and `maximum`; None where no machine and no person gave any yet.
        verdict: "pass", "partial", "fail", "error", "timeout", "died", "not_reached", "missing" or "manual"; "tampered"
            or "undecided" where points are withheld until a person has looked; "not_gradable" where this machine's
            sandbox cannot run the check.
        code: The misconception, or the kind of error; "" for a pass.
        expected: What the check expected.
        measured: What it measured, also where it passed, or what went wrong.
        look_at: Where the learner looks next.
        seconds: How long the check ran.
        needs_review: Whether the instructor should look at it.
        manual: Whether a person gave the points.
        because: The reason that the person gave.
        given_as: Points and reason as the person gave them; None if no person did.
        given_for: The digest of the file that these points are for.
    """

    check: str
    exercise: str
    part: str
    maximum: float
    points: float | None
    verdict: str
    code: str = ""
    expected: str = ""
    measured: str = ""
    look_at: str = ""
    seconds: float = 0.0
    needs_review: bool = False
    manual: bool = False
    because: str = ""
    given_as: tuple[float, str] | None = None
    given_for: str | None = None

    @property
    def reason(self) -> str:
        """Return why points were lost, in one line; "" for a pass."""
        if self.verdict == PASS:
            return ""
        said = "; ".join(text for text in (self.measured, self.look_at) if text)
        kind = self.code or self.verdict
        return one_line(said if said.startswith(f"{kind}: ") else f"{kind}: {said}" if said else kind)

    @property
    def is_lost(self) -> bool:
        """Return whether points are missing or not yet given."""
        return self.points is None or self.points < self.maximum

    def to_json(self) -> dict[str, Any]:
        """Return the score as a dict that JSON can carry, with its reason for those who read the file."""
        given = {name for name in ("given_as", "given_for") if getattr(self, name) is None}
        return {name: value for name, value in vars(self).items() if name not in given} | {"reason": self.reason}

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Score:
        """Return the score that `to_json` wrote; a later version may have written more."""
        score = cls(**{known.name: entry[known.name] for known in fields(cls) if known.name in entry})
        return score if score.given_as is None else replace(score, given_as=(score.given_as[0], score.given_as[1]))


@dataclass(frozen=True)
class Row:
    """One submission's row.

    Attributes:
        student: The student's id.
        lesson: The lesson's name.
        status: "graded"; "stopped" if the kernel died or the time was over; "unreadable"; "failed" if the grader did;
            "missing" if nothing was handed in.
        reason: Why it has this status, and anything else the instructor may want to know; "" if nothing.
        checks: One score per check.
        file: The file that was graded, below `submitted`.
        digest: SHA-256 of its bytes.
        received: When this classroom first saw these bytes (UTC).
        seconds: How long its cells ran.
        feedback: The HTML page, relative to the classroom, or "".
        late_seconds: How long after its due date it came.
        late_penalty: Points that nbgrader's plugin for late submissions takes off the lesson's points.
        sandbox: Level of the sandbox of its run, or "" if not recorded.
        peak_bytes: The most memory that its kernel held, shared pages included, or None if not measured.
        reused: Whether the run was kept from an earlier grading.
    """

    student: str
    lesson: str
    status: str
    reason: str
    checks: list[Score]
    file: str = ""
    digest: str = ""
    received: str = ""
    seconds: float = 0.0
    feedback: str = ""
    late_seconds: float = 0.0
    late_penalty: float = 0.0
    sandbox: str = ""
    peak_bytes: int | None = None
    reused: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the row as a dict that JSON can carry."""
        return vars(self) | {"checks": [score.to_json() for score in self.checks]}

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Row:
        """Return the row that `to_json` wrote; a later version may have written more."""
        known = {field.name: entry[field.name] for field in fields(cls) if field.name in entry}
        return cls(**known | {"checks": [Score.from_json(score) for score in entry["checks"]]})

    def points(self, part: str) -> float:
        """Return the points earned in a part, "core" or "further", before a late penalty."""
        return round(float(sum(check.points or 0.0 for check in self.checks if check.part == part)), 6)

    def maximum(self, part: str) -> float:
        """Return the points of a part; a check that could not be graded counts once a person gives its points."""
        known = (check for check in self.checks if check.part == part and check.points is not None)
        return round(float(sum(check.maximum for check in known)), 6)

    @property
    def core_penalty(self) -> float:
        """Return the core points' share of the late penalty, which nbgrader takes from all points."""
        core, further = self.points("core"), self.points("further")
        return round(self.late_penalty * core / (core + further), 6) if core else 0.0

    @property
    def mark_points(self) -> float:
        """Return the core points less the late penalty."""
        return max(0.0, round(self.points("core") - self.core_penalty, 6))

    @property
    def mark_percent(self) -> float:
        """Return the mark: core points less the late penalty, in percent of the core maximum."""
        return 100 * self.mark_points / self.maximum("core") if self.maximum("core") else 0.0


def read_rows(classroom: Path) -> list[Row]:
    """Return the rows of earlier gradings.

    Raises:
        ClassroomError: if the file was damaged.
    """
    path = classroom / "grading.json"
    if not path.exists():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["submissions"]
        return [Row.from_json(entry) for entry in entries]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{path} was changed or cut ({one_line(str(error), 80)}). Delete it and grade every lesson again."
        raise ClassroomError(message) from None
