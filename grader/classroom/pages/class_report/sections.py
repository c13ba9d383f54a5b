"""The sections of the class report on people and marks: each plot is followed by the same data as a table."""

from __future__ import annotations

from collections.abc import Sequence

from grader.classroom.base.row import FAILED, MISSING, UNREADABLE, Row, Score
from grader.classroom.marks.by_hand import is_outlived, open_points

from .analysis import CheckFigures, LessonFigures
from .charts import histogram, paired_bars
from .page import NAME, NUMBER, TEXT, heading, paragraph, table
from .statistics import counts_in_bins, quantile

BINS = 10


def people(rows: Sequence[Row]) -> str:
    """Return the list of what a person must look at."""
    found = [line for row in rows for line in look_at(row)]
    parts = [heading(2, "A person must look at")]
    if not found:
        return "\n".join([*parts, paragraph("Nothing: every check was graded, and every notebook could be read.")])
    count = f"{len(found)} {'entry' if len(found) == 1 else 'entries'}"
    parts.append(paragraph(f"{count}. Give points with the command override, or in formgrader."))
    columns = [("student", NAME), ("lesson", TEXT), ("what", TEXT), ("why", TEXT)]
    return "\n".join([*parts, table("What waits for a person", columns, found)])


def look_at(row: Row) -> list[tuple[str, str, str, str]]:
    """Return what of a row waits for a person: student, lesson, what, why."""
    if row.status in (UNREADABLE, FAILED):
        return [(row.student, row.lesson, row.status, row.reason)]
    return [
        (row.student, row.lesson, f"{check.check}: {_kind(row, check)}", check.reason)
        for check in open_points(row)
        if row.status != MISSING
    ]


def _kind(row: Row, check: Score) -> str:
    if is_outlived(row, check):
        return "points by hand, given before this was handed in"
    words = {
        "tampered": "tampered, points withheld",
        "not_gradable": "not gradable here",
        "manual": "graded by hand, no points yet",
    }
    return words.get(check.verdict, f"{check.verdict}, to be looked at")


def marks(figures: LessonFigures) -> str:
    """Return the distribution of marks."""
    values = [row.mark_percent for row in figures.rows if row.status != MISSING]
    said = [f"{len(values)} {'submission' if len(values) == 1 else 'submissions'}"]
    if figures.missing:
        said.append(f"{figures.missing} of the roster handed in nothing and are not in the plot")
    late = sum(row.late_seconds > 0 for row in figures.rows)
    said += [f"{late} came late"] if late else []
    if not values:
        return paragraph(f"{'; '.join(said)}.")
    middle = [quantile(values, share) for share in (0.25, 0.5, 0.75)]
    said.append(f"median {middle[1]:.1f} %, middle half {middle[0]:.1f} to {middle[2]:.1f} %")
    counts = counts_in_bins(values, BINS, 0, 100)
    edges = [f"{edge * 10}" if edge % 2 == 0 else "" for edge in range(BINS + 1)]
    title = f"Histogram of {len(values)} marks of {figures.lesson} in ten bins; the table below has the counts"
    bins = [
        (f"{10 * at} to {'below ' if at < BINS - 1 else ''}{10 * at + 10} %", count) for at, count in enumerate(counts)
    ]
    columns = [("mark", TEXT), ("submissions", NUMBER)]
    return "\n".join(
        [
            heading(3, "Marks"),
            paragraph(f"{'; '.join(said)}."),
            histogram(counts, edges, "mark, % of the core points", title),
            table("Distribution of marks", columns, bins),
        ]
    )


def success(figures: LessonFigures) -> str:
    """Return success at the end, success at the first attempt, and minutes to the first pass."""
    shown = [check for check in figures.checks if check.n]
    if not shown:
        return ""
    has_attempts = any(check.first_n for check in shown)
    items, rows = [], []
    for check in shown:
        series = [(check.passed / check.n, f"{100 * check.passed / check.n:.0f} % end")]
        if check.first_n:
            series.append(
                (check.first_passed / check.first_n, f"{100 * check.first_passed / check.first_n:.0f} % first")
            )
        items.append((check.check, series))
        rows.append((check.check, check.part, f"{check.maximum:g}", *_success_cells(check)))
    columns = [("check", NAME), ("part", TEXT), ("points", NUMBER), ("full points at the end", NUMBER)]
    columns += [("passed at the first attempt", NUMBER), ("median minutes to pass", NUMBER)]
    note = _attempts_note(figures) if has_attempts else "No record of attempts (attempts.jsonl) was handed in."
    title = f"Share of submissions with full points for each check of {figures.lesson}; the table below has the numbers"
    hint = "Solid: full points at the end. Hatched: passed at the first attempt." if has_attempts else ""
    return "\n".join(
        [
            heading(3, "Success by check"),
            *([paragraph(hint)] if hint else []),
            paired_bars(items, title),
            table("Success by check", columns, rows),
            paragraph(note, "note"),
        ]
    )


def _success_cells(check: CheckFigures) -> tuple[str, str, str]:
    end = f"{check.passed} of {check.n} ({100 * check.passed / check.n:.0f} %)"
    first = (
        "-"
        if not check.first_n
        else f"{check.first_passed} of {check.first_n} ({100 * check.first_passed / check.first_n:.0f} %)"
    )
    minutes = "-" if check.minutes is None else f"{check.minutes:.1f} ({check.minutes_n} students)"
    return end, first, minutes


def _attempts_note(figures: LessonFigures) -> str:
    return (
        f"{len(figures.attempts)} handed in a record of attempts. It is a learner's own file: good for teaching, no "
        "evidence. Minutes are the time before each call of the check, back to the call before it; of a pause, "
        "at most 30 minutes count."
    )
