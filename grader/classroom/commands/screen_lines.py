"""Format what a grading prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from grader.classroom.base.row import FAILED, GRADED, MISSING, STOPPED, UNREADABLE, Row, Score, read_rows
from grader.classroom.base.storage import one_line
from grader.classroom.handed_in.roster import read_roster, strangers
from grader.classroom.marks.by_hand import BY_HAND
from grader.classroom.marks.report import class_rows
from grader.command_line import count

NAME_WIDTH = 32


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
        width = max((len(check.check) for check in row.checks), default=0)
        lines += [_check_line(check, width) for check in row.checks if check.is_lost]
    return lines


def _check_line(check: Score, width: int) -> str:
    points = f"{'-' if check.points is None else format(check.points, 'g')}/{check.maximum:g}"
    reason = f"{BY_HAND}{check.because}" if check.manual else check.reason
    return f"    {check.check:<{width}}  {points:<5}  {reason}"


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
    """Return who on the roster handed in nothing, and who handed in work without being on it."""
    lessons = {row.lesson for row in rows}
    missing = [row for row in class_rows(classroom) if row.status == MISSING and row.lesson in lessons]
    outside = strangers(rows, read_roster(classroom))
    students = count(len({row.student for row in missing}), "student")
    lines = (
        [f"{students} on the roster without a submission: {count(len(missing), 'row')} of {MISSING}"] if missing else []
    )
    return lines + ([f"not on the roster: {', '.join(outside)}"] if outside else [])
