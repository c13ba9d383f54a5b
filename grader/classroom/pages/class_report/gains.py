"""Build the section of the class report on the concept inventory: who knew an idea before the course, and who after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.classroom.base.row import FAIL, GRADED, PASS, STOPPED, Row
from grader.command_line import count
from grader.questions import STEMS

from .blocks import NAME, NUMBER, Block, Heading, Intervals, Paragraph, Table
from .statistics import paired_difference

NO_CHOICE = {"unsolved", "no_letter", "wrong_signature", "not_a_function"}  # codes of a question without an answer

Answers = Mapping[str, Mapping[str, bool]]  # of each student, which ideas were answered rightly


def gains(rows: Sequence[Row]) -> list[Block]:
    """Return right answers before and after, for each idea, of those who answered both; [] without both tests."""
    before, after = _answers(rows, STEMS["before"]), _answers(rows, STEMS["after"])
    both = sorted(before.keys() & after.keys())
    if not before or not after:
        return []
    heading = Heading(2, "Before and after the course")
    cells, points = [], []
    for idea in dict.fromkeys(idea for student in both for idea in before[student]):
        answered = [student for student in both if idea in before[student] and idea in after[student]]
        pairs = [(before[student][idea], after[student][idea]) for student in answered]
        if not pairs:
            continue
        low, difference, high = paired_difference(pairs.count((False, True)), pairs.count((True, False)), len(pairs))
        points.append((idea, low, difference, high))
        shares = (sum(first for first, _ in pairs), sum(second for _, second in pairs))
        interval = f"{100 * low:+.0f} to {100 * high:+.0f}"
        cells.append(
            (idea, len(pairs), *(f"{100 * n / len(pairs):.0f} %" for n in shares), f"{100 * difference:+.0f}", interval)
        )
    if not points:
        return [heading, Paragraph("Nobody has answered both tests yet.")]
    columns = [
        ("idea", NAME),
        ("answered both", NUMBER),
        ("right before", NUMBER),
        ("right after", NUMBER),
        ("change, points", NUMBER),
    ]
    title = "Change in the share of right answers to each idea, and its interval; numbers in the table below"
    explained = (
        f"{count(len(both), 'student')} took both tests; an idea counts for those who chose a letter in both. The "
        "interval holds the change of such a class with 95 % confidence (Agresti and Min, 2005). Where it holds 0, the "
        "course may have changed nothing: look at the misconceptions of that question."
    )
    table = Table("Right answers before and after", [*columns, ("95 % interval", NUMBER)], cells)
    return [heading, Paragraph(explained), Intervals(points, title), table]


def _answers(rows: Sequence[Row], lesson: str) -> Answers:
    """Return which of the answers of each student were right; a check is named after its idea and its form."""
    return {
        row.student: {
            check.check.removeprefix("check_").rpartition("_")[0].replace("_", " "): check.verdict == PASS
            for check in row.checks
            if check.verdict == PASS or (check.verdict == FAIL and check.code not in NO_CHOICE)
        }
        for row in rows
        if row.lesson == lesson and row.status in (GRADED, STOPPED)
    }
