"""The sections of the class report on single checks, and on what grading cost."""

from __future__ import annotations

from collections.abc import Sequence

from grader.units import format_bytes
from grader.verdict import UNRECOGNISED

from .analysis import Item, LessonFigures
from .charts import bars, histogram, intervals
from .page import NAME, NUMBER, TEXT, heading, paragraph, table
from .statistics import FEWEST, counts_in_bins, quantile

BINS = 10
MOST_CODES = 12  # of a check; a record that a learner wrote could name thousands
SLOWEST = 5


def items(figures: LessonFigures) -> str:
    """Return how well each check tells strong students from weak ones."""
    parts = [heading(3, "How well each check tells students apart")]
    n = len(figures.graded)
    found = [(check, check.item) for check in figures.checks if check.item is not None]
    if not found:
        reason = f"Left out: {n} graded submissions. Below {FEWEST} a 95 % interval around 0 is wider than 0.7."
        return "\n".join([*parts, paragraph(reason)])
    points = [
        (check.check, item.interval[0], item.correlation, item.interval[1])
        for check, item in found
        if item.correlation is not None and item.interval is not None
    ]
    rows = [(check.check, item.n, *_item_cells(item)) for check, item in found]
    columns = [("check", NAME), ("students", NUMBER), ("correlation with the rest", NUMBER), ("95 % interval", NUMBER)]
    columns.append(("upper less lower 27 %", NUMBER))
    title = f"Correlation of each check of {figures.lesson} with the rest, and its interval; numbers in the table below"
    explained = (
        "The correlation is of the points of a check with the core points without it; the interval is by Fisher's z. "
        "Upper less lower: success of the best 27 % by core points less that of the weakest 27 %. A value near or "
        "below 0 says that a check does not go with the rest: look at its wording."
    )
    plot = [intervals(points, title)] if points else []
    table_ = table("How well each check tells students apart", columns, rows)
    return "\n".join([*parts, *plot, table_, paragraph(explained, "note")])


def _item_cells(found: Item) -> tuple[str, str, str]:
    if found.correlation is None or found.interval is None:
        return "no variation", "-", f"{found.discrimination:.2f}"
    return (
        f"{found.correlation:.2f}",
        f"{found.interval[0]:.2f} to {found.interval[1]:.2f}",
        f"{found.discrimination:.2f}",
    )


def misconceptions(figures: LessonFigures) -> str:
    """Return what went wrong, by how often, and where the bank has a gap."""
    rows: list[tuple[object, ...]] = []
    shown: list[tuple[str, float, str]] = []
    for check in figures.checks:
        codes = sorted(set(check.codes) | set(check.met), key=lambda code: (-check.codes[code], -check.met[code], code))
        for code in codes[:MOST_CODES]:
            rows.append((check.check, code, check.codes[code], check.met[code] if figures.attempts else "-"))
            if check.codes[code]:
                shown.append((f"{check.check}: {code}", float(check.codes[code]), str(check.codes[code])))
    parts = [heading(3, "What went wrong")]
    if not rows:
        return "\n".join([*parts, paragraph("Nothing: every check passed.")])
    title = f"How often each misconception stood at the end, {figures.lesson}; the table below has the numbers"
    columns = [("check", NAME), ("code", TEXT), ("at the end", NUMBER), ("met on the way, students", NUMBER)]
    plot = [bars(shown, title)] if shown else []
    return "\n".join([*parts, *_gaps(figures), *plot, table("Misconceptions, and how often", columns, rows)])


def _gaps(figures: LessonFigures) -> list[str]:
    return [
        paragraph(
            f"Gap in the bank: {check.check}: {check.codes[UNRECOGNISED]} of {check.answered_failures} failures with "
            "an answer were not recognised. Look at these answers, and add what they have in common to the bank.",
            "flag",
        )
        for check in figures.checks
        if check.is_gap
    ]


def costs(figures: LessonFigures) -> str:
    """Return time and, where it was measured, memory of the submissions that were run."""
    seconds = [row.seconds for row in figures.graded]
    if not seconds:
        return ""
    peaks = [float(row.peak_bytes) for row in figures.graded if row.peak_bytes]
    measures = [("seconds", [f"{value:.1f} s" for value in _five(seconds)])]
    measures += [("peak memory", [format_bytes(int(value)) for value in _five(peaks)])] if peaks else []
    columns = [("of a submission", NAME), ("least", NUMBER), ("median", NUMBER), ("90 %", NUMBER), ("most", NUMBER)]
    most = max(seconds)
    edge = most / BINS or 1.0
    counts = counts_in_bins(seconds, BINS, 0, most or 1.0)
    edges = [f"{at * edge:.3g}" if at % 2 == 0 else "" for at in range(BINS + 1)]
    slow = sorted(figures.graded, key=lambda row: (-row.seconds, row.student))[:SLOWEST]
    bins = [(f"{at * edge:.3g} to {(at + 1) * edge:.3g} s", count) for at, count in enumerate(counts)]
    levels = sorted({row.sandbox for row in figures.graded if row.sandbox})
    return "\n".join(
        [
            heading(3, "Time and memory"),
            histogram(
                counts, edges, "seconds that the cells ran", f"Histogram of seconds, {figures.lesson}; table below"
            ),
            table("Seconds that the cells ran", [("seconds", TEXT), ("submissions", NUMBER)], bins),
            table("Cost of a submission", columns, [(name, *values) for name, values in measures]),
            paragraph("Longest: " + ", ".join(f"{row.student} ({row.seconds:.1f} s)" for row in slow) + "."),
            *([paragraph(f"Sandbox: {', '.join(levels)}.")] if levels else []),
        ]
    )


def _five(values: Sequence[float]) -> list[float]:
    return [min(values), quantile(values, 0.5), quantile(values, 0.9), max(values)]
