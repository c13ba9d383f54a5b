"""What grading a class gave, as plain data: `grading.json`, `marks.csv`, and the lines on the screen."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.storage import one_line, write_text
from grader.command_line import count

GRADED, STOPPED, UNREADABLE, FAILED = "graded", "stopped", "unreadable", "failed"
MISSING = "missing"  # on the roster, and nothing was handed in
PACKAGES = ("lean-training", "nbgrader", "nbclient", "ipykernel", "torch", "transformers", "accelerate")
FORMAT = 1
NAME_WIDTH = 32


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


def write_report(classroom: Path, rows: Iterable[Row]) -> None:
    """Write `grading.json` and `marks.csv`: one row per submission, each file whole or not at all."""
    from .standing import standing
    from .table import write_marks

    ordered = sorted(standing(classroom, rows), key=lambda row: (row.lesson, row.student))
    report = {"format": FORMAT, "versions": versions(), "submissions": [vars(row) for row in ordered]}
    write_text(classroom / "grading.json", json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_marks(classroom, ordered)


def versions() -> dict[str, str]:
    """Return what graded: Python and packages, as installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def row_lines(row: Row) -> list[str]:
    """Return what the screen shows of a submission: its mark, and each lost point with its reason."""
    head = f"{one_line(row.student, NAME_WIDTH):<{NAME_WIDTH}} {row.mark_percent:5.1f} %"
    head += f"   core {row.points('core'):g}/{row.maximum('core'):g}"
    if row.maximum("further"):
        head += f"   further {row.points('further'):g}/{row.maximum('further'):g}"
    lines = [head if row.status == GRADED else f"{head}   {row.status}"]
    if row.reason:
        lines.append(f"    {row.reason}")
    if row.status not in (UNREADABLE, FAILED):
        width = max((len(check["check"]) for check in row.checks), default=0)
        lines += [_check_line(check, width) for check in row.checks if lost_points(check)]
    return lines


def lost_points(check: dict[str, Any]) -> bool:
    """Whether a check did not give all its points, or none are given yet."""
    return check["points"] is None or bool(check["points"] < check["maximum"])


def _check_line(check: dict[str, Any], width: int) -> str:
    points = f"{'-' if check['points'] is None else format(check['points'], 'g')}/{check['maximum']:g}"
    return f"    {check['check']:<{width}}  {points:<5}  {check['reason']}"


def summary_lines(rows: Sequence[Row], classroom: Path) -> list[str]:
    """Return the last lines on the screen: how many, and where the files are."""
    counts = Counter(row.status for row in rows)
    statuses = ", ".join(
        f"{counts[status]} {status}" for status in (GRADED, STOPPED, UNREADABLE, FAILED) if counts[status]
    )
    levels = sorted({row.sandbox for row in rows if row.sandbox})
    return [
        f"{count(len(rows), 'submission')}: {statuses}",
        *([f"sandbox   {', '.join(levels)}"] if levels else []),
        *_absent_lines(rows, classroom),
        *_late_lines(rows, classroom),
        f"marks     {classroom / 'marks.csv'}",
        f"report    {classroom / 'report.html'}",
        f"data      {classroom / 'grading.json'}",
        f"feedback  {classroom / 'feedback'}",
    ]


def _late_lines(rows: Sequence[Row], classroom: Path) -> list[str]:
    """Return what late work costs: the rows above are shown before penalties are taken off."""
    graded = {(row.student, row.lesson) for row in rows}
    return [
        f"late: {row.student}, {row.lesson}: {row.core_penalty:g} points off, which leaves {row.mark_percent:.1f} %"
        for row in read_rows(classroom)
        if row.core_penalty and (row.student, row.lesson) in graded
    ]


def _absent_lines(rows: Sequence[Row], classroom: Path) -> list[str]:
    """Return what the roster says of these lessons: who handed in nothing, and who is not on it."""
    from grader.classroom.handed_in.roster import read_roster, strangers

    from .table import class_rows

    lessons = {row.lesson for row in rows}
    absent = sum(row.status == MISSING and row.lesson in lessons for row in class_rows(classroom))
    outside = strangers(rows, read_roster(classroom))
    lines = [f"{absent} on the roster handed in nothing: their rows say {MISSING}"] if absent else []
    return lines + ([f"not on the roster: {', '.join(outside)}"] if outside else [])
