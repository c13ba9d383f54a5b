"""From what the steps found to one submission's row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grader.classroom.base.row import FAILED, GRADED, STOPPED, UNREADABLE, Row
from grader.classroom.base.storage import one_line
from grader.classroom.handed_in.alignment import OTHER_LESSON
from grader.classroom.handed_in.intake import Submission
from grader.classroom.lesson.master import Check
from grader.classroom.running.execution import DIED, NOT_REACHED, TIMEOUT
from grader.classroom.scoring.scores import NOT_GRADABLE, Score

LONGEST_REASON = 500


def graded_row(submission: Submission, result: dict[str, Any]) -> Row:
    """Return the row of a submission from what the steps found.

    Args:
        submission: What was handed in.
        result: The run, the scores, what was noticed, and the points that stand in the gradebook.

    Returns:
        The row; a manual grade in the gradebook counts before the automatic one.
    """
    execution, told, final = result["execution"], result["told"], result["final"]
    status = STOPPED if execution.end in (DIED, TIMEOUT) else GRADED
    reasons = [execution.reason] if execution.reason else []
    if told["unreadable"]:
        status, reasons = UNREADABLE, [told["unreadable"]]
    elif OTHER_LESSON in told["notes"]:
        status = UNREADABLE  # a person finds out which lesson it is
    reasons += [*submission.notes, *told["notes"], *execution.notes]
    reasons += [f"{score.check.name}: please look at it" for score in result["scores"] if score.needs_review]
    checks = [_check_entry(score, final) for score in result["scores"]]
    reason = one_line("; ".join(reasons), LONGEST_REASON)
    row = _row(submission, status, reason, checks, execution.seconds)
    return replace(row, sandbox="" if told["unreadable"] else execution.sandbox, peak_bytes=execution.peak_bytes)


def failed_row(submission: Submission, checks: Sequence[Check], error: Exception) -> Row:
    """Return the row, with no points, of a submission that the grader itself could not grade."""
    reason = one_line(f"the grader failed: {type(error).__name__}: {error}; see .grading/nbgrader.log", LONGEST_REASON)
    scores = [Score(check, 0.0, NOT_REACHED, "grader_failed", measured=reason) for check in checks]
    return _row(submission, FAILED, reason, [_check_entry(score, {}) for score in scores], 0.0)


def _row(submission: Submission, status: str, reason: str, checks: list[dict[str, Any]], seconds: float) -> Row:
    names = (submission.student, submission.lesson)
    return Row(*names, status, reason, checks, submission.file, submission.digest, seconds=seconds)


def _check_entry(score: Score, final: dict[str, float]) -> dict[str, Any]:
    return {
        "check": score.check.name,
        "exercise": score.check.exercise,
        "part": "further" if score.check.is_further else "core",
        "points": _points(score, final.get(score.check.name, score.points)),
        "maximum": score.check.points,
        "verdict": score.verdict,
        "code": score.code,
        "expected": score.expected,
        "measured": score.measured,
        "look_at": score.look_at,
        "reason": score.reason,
        "seconds": score.seconds,
        "needs_review": score.needs_review,
    }


def _points(score: Score, final: float | None) -> float | None:
    """Return the points that stand; none where this machine cannot run the check and no person gave any."""
    return None if score.verdict == NOT_GRADABLE and not final else final or 0.0


def changed_marks(earlier: Sequence[Row], row: Row) -> list[str]:
    """Return the lines that tell how a submission's points changed; none if they did not, or it was handed in anew.

    Args:
        earlier: The rows of the grading before.
        row: The new row.

    Returns:
        The mark before and now, and below it each check that gave other points.
    """
    old = next((old for old in earlier if (old.student, old.lesson) == (row.student, row.lesson)), None)
    if old is None or old.digest != row.digest:
        return []
    before, now = ({str(check["check"]): check for check in checks} for checks in (old.checks, row.checks))
    names = [*before, *(name for name in now if name not in before)]
    changed = [name for name in names if _earned(before.get(name)) != _earned(now.get(name))]
    if not changed:
        return []
    mark = f"{row.student} {row.lesson}: {old.mark_percent:.1f} % -> {row.mark_percent:.1f} %"
    return [mark, *(f"    {name}: {_told(before.get(name))} -> {_told(now.get(name))}" for name in changed)]


def _earned(check: dict[str, Any] | None) -> tuple[float | None, float] | None:
    return None if check is None else (check["points"], check["maximum"])


def _told(check: dict[str, Any] | None) -> str:
    if check is None:
        return "not there"
    points = "none yet" if check["points"] is None else f"{check['points']:g}/{check['maximum']:g}"
    return f"{points} ({check['code'] or check['verdict']})"
