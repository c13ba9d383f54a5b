"""What grading a class gave, as plain data: `grading.json`, `marks.csv`, and the lines on the screen."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ClassroomError
from .storage import one_line, write_table, write_text

GRADED, STOPPED, UNREADABLE, FAILED = "graded", "stopped", "unreadable", "failed"
HEADER = (
    "student",
    "lesson",
    "core_points",
    "core_maximum",
    "mark_percent",
    "further_points",
    "further_maximum",
    "status",
    "reason",
)
PACKAGES = ("lean-training", "nbgrader", "nbclient", "ipykernel", "torch", "transformers", "accelerate")
FORMAT = 1
NAME_WIDTH = 32


@dataclass(frozen=True)
class Row:
    """One submission's row.

    Attributes:
        student: The student's id.
        lesson: The lesson's name.
        status: "graded"; "stopped" if the kernel died or the time was over; "unreadable"; "failed" if the grader did.
        reason: Why, and what the instructor may want to know; "" if there is nothing to say.
        checks: One entry per check: check, exercise, part, points, maximum, verdict, code, expected, measured, look_at,
            reason, seconds.
        file: The file that was graded, below `submitted`.
        digest: SHA-256 of its bytes.
        received: When this classroom first saw these bytes (UTC).
        seconds: How long its cells ran.
        feedback: The HTML page, relative to the classroom, or "".
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
    reused: bool = False

    def points(self, part: str) -> float:
        """Points earned in a part, "core" or "further"."""
        return round(float(sum(check["points"] for check in self.checks if check["part"] == part)), 6)

    def maximum(self, part: str) -> float:
        """Points that a part has."""
        return round(float(sum(check["maximum"] for check in self.checks if check["part"] == part)), 6)

    @property
    def mark_percent(self) -> float:
        """The mark: core points of the core maximum, in percent."""
        return 100 * self.points("core") / self.maximum("core") if self.maximum("core") else 0.0


def read_rows(classroom: Path) -> list[Row]:
    """Return the rows of earlier gradings.

    Raises:
        ClassroomError: if the file was damaged.
    """
    path = classroom / "grading.json"
    if not path.exists():
        return []
    try:
        return [Row(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))["submissions"]]
    except (ValueError, KeyError, TypeError) as error:
        message = f"{path} was changed or cut ({one_line(str(error), 80)}). Delete it and grade every lesson again."
        raise ClassroomError(message) from None


def write_report(classroom: Path, rows: Iterable[Row]) -> None:
    """Write `grading.json` and `marks.csv`: one row per submission, each file whole or not at all."""
    ordered = sorted(rows, key=lambda row: (row.lesson, row.student))
    report = {"format": FORMAT, "versions": versions(), "submissions": [vars(row) for row in ordered]}
    write_text(classroom / "grading.json", json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_table(classroom / "marks.csv", HEADER, [_marks_row(row) for row in ordered])


def _marks_row(row: Row) -> tuple[object, ...]:
    core = (f"{row.points('core'):g}", f"{row.maximum('core'):g}", f"{row.mark_percent:.1f}")
    further = (f"{row.points('further'):g}", f"{row.maximum('further'):g}")
    return (row.student, row.lesson, *core, *further, row.status, row.reason)


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
        lines += [_check_line(check, width) for check in row.checks if check["points"] < check["maximum"]]
    return lines


def _check_line(check: dict[str, Any], width: int) -> str:
    points = f"{check['points']:g}/{check['maximum']:g}"
    return f"    {check['check']:<{width}}  {points:<5}  {check['reason']}"


def summary_lines(rows: Sequence[Row], classroom: Path) -> list[str]:
    """Return the last lines on the screen: how many, and where the files are."""
    counts = Counter(row.status for row in rows)
    statuses = ", ".join(
        f"{counts[status]} {status}" for status in (GRADED, STOPPED, UNREADABLE, FAILED) if counts[status]
    )
    count = f"{len(rows)} submission{'s' if len(rows) != 1 else ''}: {statuses}"
    return [
        count,
        f"marks     {classroom / 'marks.csv'}",
        f"report    {classroom / 'grading.json'}",
        f"feedback  {classroom / 'feedback'}",
    ]
