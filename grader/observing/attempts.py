"""The learner's own record of check calls: one line each, next to the notebook."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, BinaryIO

ATTEMPTS_FILE = Path("attempts.jsonl")
SWITCH = "LEAN_TRAINING_ATTEMPTS"
_last_call = time.monotonic()  # the set-up cell imports this


def append_attempt(exercise: str, check: str, code: str, seconds: float) -> None:
    """Append one line: exercise, check, misconception code, seconds, attempt number. No source text and no name.

    In addition to the seconds of the check, it holds the seconds since the previous call, or since the kernel started:
    a duration and no date, so that a class can see which exercise takes long.

    `LEAN_TRAINING_ATTEMPTS=off` in the environment keeps no record. A folder that cannot be written keeps none either:
    a record is a service, and never costs a learner the check.
    """
    if os.environ.get(SWITCH, "on").lower() in {"off", "0", "no", "false"}:
        return
    global _last_call
    now = time.monotonic()
    worked, _last_call = now - _last_call, now
    number = 1 + sum(line["check"] == check for line in read_attempts())
    line = {"exercise": exercise, "check": check, "code": code, "seconds": round(seconds, 2), "attempt": number}
    line["worked_seconds"] = round(worked)
    try:
        with ATTEMPTS_FILE.open("a+b") as file:
            is_torn = file.tell() and not _ends_with_newline(file)
            file.write(b"\n" * bool(is_torn) + json.dumps(line).encode() + b"\n")
    except OSError:
        return


def _ends_with_newline(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def read_attempts() -> list[dict[str, Any]]:
    """Return the record, oldest first; lines that are not records (one that was torn) are passed over."""
    try:
        lines = ATTEMPTS_FILE.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    attempts = []
    for line in lines:
        try:
            attempt = json.loads(line)
        except ValueError:
            continue
        if isinstance(attempt, dict) and {"exercise", "check", "code", "attempt"} <= set(attempt):
            attempts.append(attempt)
    return attempts
