"""Build what a report shows first: how a class did, who needs help, what to teach, and students by checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.classroom.base.row import CORE, MISSING, Row, Score
from grader.command_line import count
from grader.verdict import PASSED, UNRECOGNISED

from .analysis import NO_ANSWER, LessonFigures
from .blocks import NAME, TEXT, Block, Cards, Fold, FoldEnd, Heading, Mistake, Paragraph, StudentMap, Table
from .objectives import judged_objectives
from .statistics import percentile

MOST_MISTAKES = 5
MOST_NAMES = 6  # in a sentence; the table below has all
MOST_UNFOLDED = 12
HELP_BELOW = 50.0  # % of the core points
STUCK_AFTER = 3  # failed calls of one check with the same code, and no pass
NEVER_SEEN = "never seen"
WORDS = {"+": "full points", "~": "some points", "x": "wrong", ".": "no answer", "?": "waits for a person"}
UNSEEN = {*NO_ANSWER, UNRECOGNISED, "tampered", "manual"}


@dataclass(frozen=True)
class Material:
    """What the report takes from a lesson and from submissions.

    Attributes:
        sections: The lesson's section that treats an exercise, by exercise.
        examples: One anonymous answer, by exercise and code.
    """

    sections: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[tuple[str, str], str] = field(default_factory=dict)


def first_screen(figures: LessonFigures, material: Material) -> list[Block]:
    """Return the three answers of a lesson, its costliest misconceptions, who needs help, and the map."""
    costly = mistakes(figures, material)
    helped = needs_help(figures)
    cost: list[Block] = [*costly] or [Paragraph("No misconception was recognised.")]
    return [
        Cards([("How did they do?", _did(figures)), ("Who needs help?", _who(helped)), _teach(figures, costly)]),
        Heading(3, "What cost the class most"),
        *cost,
        Heading(3, "Students by checks"),
        _map(figures),
        Heading(3, "Who is stuck, or was never seen"),
        *_help_list(helped),
    ]


def _did(figures: LessonFigures) -> str:
    values = [row.mark_percent for row in figures.rows if row.status != MISSING]
    if not values:
        return "Nobody handed in."
    full = sum(value >= 100 for value in values)
    low, median, high = (percentile(values, percent) for percent in (25, 50, 75))
    return (
        f"Median {median:.0f} % of the core points, middle half {low:.0f} to {high:.0f} %. "
        f"{full} of {len(values)} have all of them."
    )


def _who(helped: Sequence[tuple[str, str, str]]) -> str:
    if not helped:
        return f"Nobody is below {HELP_BELOW:.0f} %, and everybody handed in."
    kinds = Counter(kind for _, kind, _ in helped)
    said = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    names = ", ".join(student for student, _, _ in helped[:MOST_NAMES])
    more = f" and {len(helped) - MOST_NAMES} more, below" if len(helped) > MOST_NAMES else ""
    return f"{count(len(helped), 'student')} ({said}): {names}{more}."


def _teach(figures: LessonFigures, costly: Sequence[Mistake]) -> tuple[str, str]:
    question = "What do I teach tomorrow?"
    if not costly:
        return question, "No misconception is shared. The table of checks below shows where points were lost."
    first = costly[0]
    where = f" Section: {first.section}." if first.section else ""
    most = f"What cost most: “{first.sentence}” {count(first.students, 'student')}, {first.points:g} points.{where}"
    return question, f"{_weakest(figures)}{most}"


def _weakest(figures: LessonFigures) -> str:
    """Return the objective that the fewest show, whichever misconceptions they lost it by; "" if none is stated."""
    judged = judged_objectives(figures)
    if not judged:
        return ""
    text, _, shown, of = min(judged, key=lambda found: found[2] / found[3])
    return f"{text[:1].upper()}{text[1:].rstrip('.')}: {shown} of {of} can. " if shown < of else ""


def mistakes(figures: LessonFigures, material: Material) -> list[Mistake]:
    """Return the misconceptions that cost the class most points, at most five."""
    lost: dict[tuple[str, str], list[tuple[str, Score]]] = {}
    for row in figures.graded:
        for check in row.checks:
            if check.is_lost and check.code and check.code not in UNSEEN:
                lost.setdefault((check.exercise, check.code), []).append((row.student, check))
    costs = {key: sum(check.maximum - (check.points or 0.0) for _, check in found) for key, found in lost.items()}
    keys = sorted(lost, key=lambda key: (-costs[key], key))[:MOST_MISTAKES]
    return [
        Mistake(
            exercise=exercise,
            code=code,
            sentence=_sentence([check for _, check in lost[exercise, code]]),
            students=len({student for student, _ in lost[exercise, code]}),
            points=costs[exercise, code],
            example=material.examples.get((exercise, code), ""),
            section=material.sections.get(exercise, ""),
        )
        for exercise, code in keys
    ]


def _sentence(checks: Sequence[Score]) -> str:
    """Return what a misconception's diagnosis says most often, as a sentence."""
    said = Counter(check.look_at or check.measured for check in checks).most_common(1)[0][0]
    sentence = said[:1].upper() + said[1:]
    return sentence if sentence.endswith((".", "?", "!", ".)")) else f"{sentence}."


def needs_help(figures: LessonFigures) -> list[tuple[str, str, str]]:
    """Return student, kind and what is known of each who handed in nothing, is far behind, or repeats one failure.

    Those never seen come first, then the weakest.
    """
    found = []
    for row in sorted(figures.rows, key=lambda row: (row.mark_percent, row.student)):
        stuck = _repeated(figures, row.student)
        core = [check for check in row.checks if check.part == CORE and check.is_lost]
        first = f"{core[0].check}: {core[0].code or core[0].verdict}" if core else ""
        if row.status == MISSING:
            found.append((row.student, NEVER_SEEN, "handed in nothing"))
        elif core and all(check.code in NO_ANSWER for check in core) and not row.points(CORE):
            found.append((row.student, "without an answer", row.reason or first))
        elif stuck:
            found.append((row.student, "stuck", stuck))
        elif row.mark_percent < HELP_BELOW:
            found.append((row.student, f"below {HELP_BELOW:.0f} %", f"{row.mark_percent:.0f} %, {first}"))
    return sorted(found, key=lambda entry: entry[1] != NEVER_SEEN)


def _repeated(figures: LessonFigures, student: str) -> str:
    """Return the failure that a student met several times in a check that never passed; "" if none."""
    tried = figures.attempts.get(student, ())
    passed = {attempt.check for attempt in tried if attempt.code == PASSED}
    calls = Counter((a.check, a.code) for a in tried if a.check not in passed and a.code not in NO_ANSWER)
    known = {check.check for check in figures.checks}
    for (check, code), number in calls.most_common():
        if number >= STUCK_AFTER and check in known:
            return f"{check}: {code}, {number} times"
    return ""


def _help_list(helped: Sequence[tuple[str, str, str]]) -> list[Block]:
    """Return the table of who needs help; a long one is folded."""
    if not helped:
        return [Paragraph("Nobody.")]
    columns = [("student", NAME), ("why", TEXT), ("where", TEXT)]
    table = Table("Who needs help, the weakest first", columns, helped)
    is_long = len(helped) > MOST_UNFOLDED
    return [Fold(f"All {len(helped)} students"), table, FoldEnd()] if is_long else [table]


def _map(figures: LessonFigures) -> StudentMap:
    """Return the map: students from the best to the weakest, checks in the lesson's order."""
    rows = sorted(figures.rows, key=lambda row: (-row.mark_percent, row.student))
    names = [check.check for check in figures.checks]
    lines = []
    for row in rows:
        checks = {check.check: _sign(row, check) for check in row.checks}
        lines.append((row.student, f"{row.mark_percent:.0f}", [checks.get(name, ".") for name in names]))
    return StudentMap(names, lines, WORDS)


def _sign(row: Row, check: Score) -> str:
    if check.points is None or check.needs_review:
        return "?"
    if not check.is_lost:
        return "+"
    if check.points:
        return "~"
    return "." if row.status == MISSING or (check.code or check.verdict) in NO_ANSWER else "x"
