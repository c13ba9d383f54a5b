"""Build the row of a submission from what the steps found, and compare it with the row before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.classroom.base.row import FAILED, GRADED, NOT_GRADABLE, STOPPED, UNREADABLE, Row, Score
from grader.classroom.base.storage import one_line
from grader.classroom.gradebook.steps import Scored
from grader.classroom.handed_in.alignment import OTHER_LESSON
from grader.classroom.handed_in.intake import Submission
from grader.classroom.lesson.master import Check
from grader.classroom.running.execution import DIED, NOT_REACHED, TIMEOUT
from grader.classroom.scoring.scores import score_of

LONGEST_REASON = 500


def graded_row(submission: Submission, result: Scored) -> Row:
    """Return the row of a submission from what the steps found.

    Args:
        submission: What was handed in.
        result: What the steps found.

    Returns:
        The row; a manual grade in the gradebook counts before the automatic one.
    """
    execution = result.execution
    status = STOPPED if execution.end in (DIED, TIMEOUT) else GRADED
    reasons = [execution.reason] if execution.reason else []
    if result.unreadable:
        status, reasons = UNREADABLE, [result.unreadable]
    elif OTHER_LESSON in result.notes:
        status = UNREADABLE  # a person finds out which lesson it is
    reasons += [*submission.notes, *result.notes, *execution.notes]
    reasons += [f"{score.check}: please look at it" for score in result.scores if score.needs_review]
    checks = [_in_gradebook(score, result.points) for score in result.scores]
    reason = one_line("; ".join(reasons), LONGEST_REASON)
    row = _row(submission, status, reason, checks, execution.seconds)
    return replace(row, sandbox="" if result.unreadable else execution.sandbox, peak_bytes=execution.peak_bytes)


def failed_row(submission: Submission, checks: Sequence[Check], error: Exception) -> Row:
    """Return the row, with no points, of a submission that the grader itself could not grade."""
    reason = one_line(f"the grader failed: {type(error).__name__}: {error}; see .grading/nbgrader.log", LONGEST_REASON)
    scores = [score_of(check, 0.0, NOT_REACHED, "grader_failed", measured=reason) for check in checks]
    return _row(submission, FAILED, reason, scores, 0.0)


def kept_if_failed(earlier: Sequence[Row], row: Row) -> Row:
    """Return the row, or the good one of the same bytes that the grader made before it failed."""
    good = (old for old in earlier if (old.student, old.lesson, old.digest) == (row.student, row.lesson, row.digest))
    old = next((old for old in good if row.status == FAILED and old.status in (GRADED, STOPPED)), None)
    return row if old is None else replace(old, reason=one_line(f"{row.reason}; {old.reason}", LONGEST_REASON))


def _row(submission: Submission, status: str, reason: str, checks: list[Score], seconds: float) -> Row:
    names = (submission.student, submission.lesson)
    return Row(*names, status, reason, checks, submission.file, submission.digest, seconds=seconds)


def _in_gradebook(score: Score, final: Mapping[str, float]) -> Score:
    """Return a score with the points that the gradebook has; none where no machine can and no person did give any."""
    points = final.get(score.check, score.points)
    return replace(score, points=None if score.verdict == NOT_GRADABLE and not points else points or 0.0)


def changed_marks(earlier: Sequence[Row], row: Row) -> list[str]:
    """Return lines on how the points of an unchanged submission changed; none if they did not.

    Args:
        earlier: The rows of the grading before.
        row: The new row.

    Returns:
        The mark before and now, and below it each check that gave other points.
    """
    old = next((old for old in earlier if (old.student, old.lesson) == (row.student, row.lesson)), None)
    if old is None or old.digest != row.digest:
        return []
    before, now = ({score.check: score for score in scores} for scores in (old.checks, row.checks))
    names = [*before, *(name for name in now if name not in before)]
    changed = [name for name in names if _earned(before.get(name)) != _earned(now.get(name))]
    if not changed:
        return []
    mark = f"{row.student} {row.lesson}: {old.mark_percent:.1f} % -> {row.mark_percent:.1f} %"
    return [mark, *(f"    {name}: {_described(before.get(name))} -> {_described(now.get(name))}" for name in changed)]


def _earned(score: Score | None) -> tuple[float | None, float] | None:
    return None if score is None else (score.points, score.maximum)


def _described(score: Score | None) -> str:
    if score is None:
        return "not there"
    points = "none yet" if score.points is None else f"{score.points:g}/{score.maximum:g}"
    return f"{points} ({score.code or score.verdict})"
