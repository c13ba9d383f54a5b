"""Which marks differ from those of the grading before, although the submission is the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .report import Row


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
