"""Build the sections of the class report: work for a person, the marks, the checks, and the cost of grading."""

from __future__ import annotations

from collections.abc import Sequence

from grader.classroom.base.row import FAILED, MANUAL, MISSING, NOT_GRADABLE, UNREADABLE, Row, Score
from grader.classroom.marks.by_hand import is_outlived, open_points
from grader.classroom.running.execution import TAMPERED
from grader.command_line import count
from grader.units import format_bytes
from grader.verdict import UNRECOGNISED

from .analysis import CheckFigures, Item, LessonFigures
from .blocks import NAME, NUMBER, TEXT, Bars, Block, Heading, Histogram, Intervals, Links, Paragraph, Table
from .statistics import FEWEST, counts_in_bins, percentile

BINS = 10
MOST_CODES = 12  # of a check; a record that a learner wrote could name thousands
SLOWEST = 5
WAITING = {
    TAMPERED: "tampered, points withheld",
    NOT_GRADABLE: "not gradable here",
    MANUAL: "graded by hand, no points yet",
}


def overview(lessons: Sequence[LessonFigures]) -> list[Block]:
    """Return the numbers of each lesson in one table."""
    rows = []
    for found in lessons:
        handed_in = [row for row in found.rows if row.status != MISSING]
        mean = sum(row.mark_percent for row in handed_in) / len(handed_in) if handed_in else 0.0
        waiting = sum(len(look_at(row)) for row in handed_in)
        rows.append((found.lesson, len(handed_in), found.missing, f"{mean:.1f} %", waiting))
    students = count(len({row.student for found in lessons for row in found.rows}), "student")
    columns = [("lesson", NAME), ("submissions", NUMBER), ("missing", NUMBER), ("mean mark", NUMBER)]
    columns.append(("to look at", NUMBER))
    return [
        Paragraph(f"{students}. The marks are in marks.csv; the numbers of this page come from grading.json."),
        *([Links([found.lesson for found in lessons])] if len(lessons) > 1 else []),
        Table("Lessons", columns, rows),
    ]


def people(rows: Sequence[Row]) -> list[Block]:
    """Return the list of what a person must look at."""
    heading = Heading(2, "A person must look at")
    found = [line for row in rows for line in look_at(row)]
    if not found:
        return [heading, Paragraph("Nothing: every check was graded, and every notebook could be read.")]
    entries = "1 entry" if len(found) == 1 else f"{len(found)} entries"
    columns = [("student", NAME), ("lesson", TEXT), ("what", TEXT), ("why", TEXT)]
    return [
        heading,
        Paragraph(f"{entries}. Give points with the command override, or in formgrader."),
        Table("What waits for a person", columns, found),
    ]


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
    return WAITING.get(check.verdict, f"{check.verdict}, to be looked at")


def marks(figures: LessonFigures) -> list[Block]:
    """Return the distribution of marks."""
    values = [row.mark_percent for row in figures.rows if row.status != MISSING]
    said = [count(len(values), "submission")]
    if figures.missing:
        said.append(f"{count(figures.missing, 'student')} of the roster handed in nothing and count in no figure here")
    late = [row for row in figures.rows if row.late_seconds > 0]
    cost = sum(row.late_penalty > 0 for row in late)
    said += [f"{len(late)} came after the due date, of which {cost} lost points"] if late else []
    if not values:
        return [Paragraph(f"{'; '.join(said)}.")]
    low, median, high = (percentile(values, percent) for percent in (25, 50, 75))
    said.append(f"median {median:.1f} %, middle half {low:.1f} to {high:.1f} %")
    counts = counts_in_bins(values, BINS, 0, 100)
    edges = [f"{edge * 10}" if edge % 2 == 0 else "" for edge in range(BINS + 1)]
    title = f"Histogram of {len(values)} marks of {figures.lesson} in ten bins; the table below has the counts"
    bins = [(f"{10 * at} to {'below ' if at < BINS - 1 else ''}{10 * at + 10} %", n) for at, n in enumerate(counts)]
    return [
        Heading(3, "Marks"),
        Paragraph(f"{'; '.join(said)}."),
        Histogram(counts, edges, "mark, % of the core points", title),
        Table("Distribution of marks", [("mark", TEXT), ("submissions", NUMBER)], bins),
    ]


def success(figures: LessonFigures) -> list[Block]:
    """Return success at the end, success at the first attempt, and minutes to the first pass."""
    shown = [check for check in figures.checks if check.n]
    if not shown:
        return []
    has_attempts = any(check.first_n for check in shown)
    columns = [("check", NAME), ("part", TEXT), ("points", NUMBER), ("full points at the end", NUMBER)]
    columns += [("passed at the first attempt", NUMBER), ("median minutes to pass", NUMBER)]
    title = f"Share of submissions with full points for each check of {figures.lesson}; the table below has the numbers"
    hint = Paragraph("Solid: full points at the end. Hatched: passed at the first attempt.")
    note = _attempts_note(figures) if has_attempts else "No record of attempts (attempts.jsonl) was handed in."
    return [
        Heading(3, "Success by check"),
        *([hint] if has_attempts else []),
        Bars([(check.check, _shares(check)) for check in shown], title),
        Table("Success by check", columns, [_success_row(check) for check in shown]),
        Paragraph(note, "note"),
    ]


def _shares(check: CheckFigures) -> list[tuple[float, str]]:
    counted = [(check.passed, check.n, "end"), (check.first_passed, check.first_n, "first")]
    return [(passed / n, f"{100 * passed / n:.0f} % {when}") for passed, n, when in counted if n]


def _success_row(check: CheckFigures) -> tuple[str, ...]:
    end, first = (
        f"{passed} of {n} ({100 * passed / n:.0f} %)" if n else "-"
        for passed, n in ((check.passed, check.n), (check.first_passed, check.first_n))
    )
    minutes = "-" if check.minutes is None else f"{check.minutes:.1f} ({check.minutes_n} students)"
    return check.check, check.part, f"{check.maximum:g}", end, first, minutes


def _attempts_note(figures: LessonFigures) -> str:
    return (
        f"{len(figures.attempts)} handed in a record of attempts. It is a learner's own file: good for teaching, no "
        "evidence. Minutes are the time before each call of the check, back to the call before it; of a pause, "
        "at most 30 minutes count."
    )


def items(figures: LessonFigures) -> list[Block]:
    """Return how well each check separates strong students from weak ones."""
    heading = Heading(3, "How well each check separates students")
    found = [(check, check.item) for check in figures.checks if check.item is not None]
    if not found:
        n = len(figures.graded)
        reason = f"Left out: {n} graded submissions. Below {FEWEST} a 95 % interval around 0 is wider than 0.7."
        return [heading, Paragraph(reason)]
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
    plot = [Intervals(points, title)] if points else []
    table = Table("How well each check separates students", columns, rows)
    return [heading, *plot, table, Paragraph(explained, "note")]


def _item_cells(found: Item) -> tuple[str, str, str]:
    upper_less_lower = f"{found.discrimination:.2f}"
    if found.correlation is None or found.interval is None:
        return "no variation", "-", upper_less_lower
    return f"{found.correlation:.2f}", f"{found.interval[0]:.2f} to {found.interval[1]:.2f}", upper_less_lower


def misconceptions(figures: LessonFigures) -> list[Block]:
    """Return what went wrong, by how often, and where the bank has a gap."""
    heading = Heading(3, "What went wrong")
    rows: list[tuple[object, ...]] = []
    shown: list[tuple[str, int]] = []
    for check in figures.checks:
        codes = sorted(set(check.codes) | set(check.met), key=lambda code: (-check.codes[code], -check.met[code], code))
        for code in codes[:MOST_CODES]:
            rows.append((check.check, code, check.codes[code], check.met[code] if figures.attempts else "-"))
            if check.codes[code]:
                shown.append((f"{check.check}: {code}", check.codes[code]))
    if not rows:
        return [heading, Paragraph("Nothing: every check passed.")]
    title = f"How often each misconception remained at the end, {figures.lesson}; the table below has the numbers"
    columns = [("check", NAME), ("code", TEXT), ("at the end", NUMBER), ("met on the way, students", NUMBER)]
    most = max((n for _, n in shown), default=1)
    plot = [Bars([(label, [(n / most, str(n))]) for label, n in shown], title)] if shown else []
    return [heading, *_gaps(figures), *plot, Table("Misconceptions, and how often", columns, rows)]


def _gaps(figures: LessonFigures) -> list[Block]:
    return [
        Paragraph(
            f"Gap in the bank: {check.check}: {check.codes[UNRECOGNISED]} of {check.answered_failures} failures with "
            "an answer were not recognised. Look at these answers, and add what they have in common to the bank.",
            "flag",
        )
        for check in figures.checks
        if check.is_gap
    ]


def costs(figures: LessonFigures) -> list[Block]:
    """Return time and, where it was measured, memory of the submissions that were run."""
    seconds = [row.seconds for row in figures.graded]
    if not seconds:
        return []
    edge = max(seconds) / BINS or 1.0
    counts = counts_in_bins(seconds, BINS, 0, max(seconds) or 1.0)
    edges = [f"{at * edge:.3g}" if at % 2 == 0 else "" for at in range(BINS + 1)]
    bins = [(f"{at * edge:.3g} to {(at + 1) * edge:.3g} s", n) for at, n in enumerate(counts)]
    slow = sorted(figures.graded, key=lambda row: (-row.seconds, row.student))[:SLOWEST]
    levels = sorted({row.sandbox for row in figures.graded if row.sandbox})
    title = f"Histogram of seconds, {figures.lesson}; table below"
    return [
        Heading(3, "Time and memory"),
        Histogram(counts, edges, "seconds that the cells ran", title),
        Table("Seconds that the cells ran", [("seconds", TEXT), ("submissions", NUMBER)], bins),
        _cost_table(figures),
        Paragraph("Longest: " + ", ".join(f"{row.student} ({row.seconds:.1f} s)" for row in slow) + "."),
        *([Paragraph(f"Sandbox: {', '.join(levels)}.")] if levels else []),
    ]


def _cost_table(figures: LessonFigures) -> Table:
    peaks = [float(row.peak_bytes) for row in figures.graded if row.peak_bytes]
    rows = [("seconds", *(f"{value:.1f} s" for value in _spread([row.seconds for row in figures.graded])))]
    rows += [("peak memory", *(format_bytes(int(value)) for value in _spread(peaks)))] if peaks else []
    columns = [("of a submission", NAME), ("least", NUMBER), ("median", NUMBER), ("90 %", NUMBER), ("most", NUMBER)]
    return Table("Cost of a submission", columns, rows)


def _spread(values: Sequence[float]) -> list[float]:
    return [min(values), percentile(values, 50), percentile(values, 90), max(values)]
