"""What a learner has earned so far, read from the record of attempts."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from grader.observing.attempts import read_attempts
from grader.verdict import PASSED


def scorecard() -> None:
    """Print, for every lesson with an attempt, each check with its points, its last code and its number of attempts.

    A check counts as passed from its first pass on, so points survive a restart of the kernel.
    """
    tried: dict[str, list[dict[str, Any]]] = {}
    for attempt in read_attempts():
        tried.setdefault(attempt["check"], []).append(attempt)
    lessons = json.loads(files("grader").joinpath("lessons.json").read_text(encoding="utf-8"))
    shown = [lesson for lesson in lessons.values() if any(check["check"] in tried for check in lesson["checks"])]
    if not shown:
        print("No check was run yet in this folder.")
    for lesson in shown:
        _print_lesson(lesson, tried)


def _print_lesson(lesson: dict[str, Any], tried: dict[str, list[dict[str, Any]]]) -> None:
    passed = {check for check, attempts in tried.items() if any(attempt["code"] == PASSED for attempt in attempts)}
    print(f"{lesson['title']}: {_earned(lesson, passed, False)} core points, {_earned(lesson, passed, True)} further")
    for check in lesson["checks"]:
        attempts = tried.get(check["check"], [])
        earned = check["points"] if check["check"] in passed else 0
        state = "passed" if earned else attempts[-1]["code"] if attempts else "not tried yet"
        plural = "attempt" if len(attempts) == 1 else "attempts"
        print(f"  {check['check']:<32} {earned} / {check['points']}  {state} ({len(attempts)} {plural})")


def _earned(lesson: dict[str, Any], passed: set[str], is_further: bool) -> str:
    checks = [check for check in lesson["checks"] if check["is_further"] == is_further]
    earned = sum(check["points"] for check in checks if check["check"] in passed)
    return f"{earned} of {sum(check['points'] for check in checks)}"
