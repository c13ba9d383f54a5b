"""Read the record of check calls that a student may hand in: a help for teaching, never evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.classroom.base.row import Row
from grader.classroom.handed_in.reading import Unreadable, read_plain_file
from grader.units import MIB
from grader.verdict import PASSED, UNSOLVED

FILE = "attempts.jsonl"
LARGEST_BYTES = 4 * MIB
LONGEST_PAUSE_SECONDS = 1800  # a longer pause between two calls is a break, not work
CODE = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)


@dataclass(frozen=True)
class Attempt:
    """One call of a check.

    Attributes:
        check: The check's name.
        code: "passed", or the misconception.
        worked_seconds: Seconds since the call before it, or since the kernel started; None where it was not recorded.
    """

    check: str
    code: str
    worked_seconds: float | None


def read_attempts(submitted: Path, row: Row) -> list[Attempt]:
    """Return the attempts handed in with a notebook, oldest first; none without a readable record."""
    path = (submitted / row.file).parent / FILE
    try:
        if path.lstat().st_size > LARGEST_BYTES:
            return []
        text = read_plain_file(path).decode("utf-8", "replace")
    except (OSError, Unreadable):
        return []
    found = (_attempt(line) for line in text.splitlines())
    return [attempt for attempt in found if attempt is not None]


def _attempt(line: str) -> Attempt | None:
    """Read one line; None for a line that is torn or made up."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    check, code = entry.get("check"), entry.get("code")
    if not isinstance(check, str) or not isinstance(code, str) or not CODE.fullmatch(check) or not CODE.fullmatch(code):
        return None
    return Attempt(check, code, _seconds(entry.get("worked_seconds")))


def _seconds(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9
    return min(float(value), LONGEST_PAUSE_SECONDS) if is_number else None


def is_first_passed(attempts: Sequence[Attempt], check: str) -> bool | None:
    """Return whether the first answer to a check passed; None if there was none.

    A call about the untouched stub is no attempt: Run All makes one, and so does nbgrader's Validate.
    """
    first = next((attempt for attempt in attempts if attempt.check == check and attempt.code != UNSOLVED), None)
    return None if first is None else first.code == PASSED


def minutes_to_pass(attempts: Sequence[Attempt], check: str) -> float | None:
    """Return the minutes of work before the first pass; None if it never passed, or no time was recorded.

    Work on a check is the time before each of its calls, back to the call before it of any check, breaks cut off.
    """
    seconds = 0.0
    for attempt in attempts:
        if attempt.check != check:
            continue
        if attempt.worked_seconds is None:
            return None
        seconds += attempt.worked_seconds
        if attempt.code == PASSED:
            return seconds / 60
    return None
