"""The row of one submission, and the file that keeps the rows of a class."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .errors import ClassroomError
from .storage import one_line

GRADED, STOPPED, UNREADABLE, FAILED = "graded", "stopped", "unreadable", "failed"
MISSING = "missing"  # on the roster, and nothing was handed in
FORMAT = 1


@dataclass(frozen=True)
class Row:
    """One submission's row.

    Attributes:
        student: The student's id.
        lesson: The lesson's name.
        status: "graded"; "stopped" if the kernel died or the time was over; "unreadable"; "failed" if the grader did;
            "missing" if nothing was handed in.
        reason: Why, and what the instructor may want to know; "" if there is nothing to say.
        checks: One entry per check: check, exercise, part, points, maximum, verdict, code, expected, measured, look_at,
            reason, seconds, needs_review, manual, because. Points are None where no machine and no person gave any yet.
            Points by hand also have given_as (points, because) and given_for (the digest of the file they are for).
        file: The file that was graded, below `submitted`.
        digest: SHA-256 of its bytes.
        received: When this classroom first saw these bytes (UTC).
        seconds: How long its cells ran.
        feedback: The HTML page, relative to the classroom, or "".
        late_seconds: How long after its due date it came.
        late_penalty: Points that nbgrader's plugin for late submissions takes from all points of the lesson.
        sandbox: How the run was kept apart, or "" where that was not recorded.
        peak_bytes: The most memory that its kernel held, shared pages included, or None where that was not measured.
        reused: Whether the run was kept from an earlier grading.
    """

    student: str
    lesson: str
    status: str
    reason: str
    checks: list[dict[str, Any]]
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

    def points(self, part: str) -> float:
        """Points earned in a part, "core" or "further", before a late penalty."""
        return round(float(sum(check["points"] or 0.0 for check in self.checks if check["part"] == part)), 6)

    def maximum(self, part: str) -> float:
        """Points that a part has; a check that could not be graded here is left out until a person gives its points."""
        known = (check for check in self.checks if check["part"] == part and check["points"] is not None)
        return round(float(sum(check["maximum"] for check in known)), 6)

    @property
    def core_penalty(self) -> float:
        """The late penalty's share in the core points: nbgrader takes it from the sum of core and further points."""
        core, further = self.points("core"), self.points("further")
        return round(self.late_penalty * core / (core + further), 6) if core else 0.0

    @property
    def mark_points(self) -> float:
        """Core points less the late penalty."""
        return max(0.0, round(self.points("core") - self.core_penalty, 6))

    @property
    def mark_percent(self) -> float:
        """The mark: core points, less a late penalty, of the core maximum, in percent."""
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
        known = {field.name for field in fields(Row)}  # a later version may have written more
        return [Row(**{name: value for name, value in entry.items() if name in known}) for entry in entries]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{path} was changed or cut ({one_line(str(error), 80)}). Delete it and grade every lesson again."
        raise ClassroomError(message) from None
