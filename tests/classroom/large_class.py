"""A made-up class, large enough for statistics: rows as grading writes them, and the records of attempts."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from small_course import LESSON

from grader.classroom.base.row import FAILED, GRADED, UNREADABLE, Row, Score

CHECKS = (
    ("check_double", "double", "core", 2.0),
    ("check_triple", "triple", "core", 3.0),
    ("check_guess", "guess", "further", 4.0),
)
CODES = ("squared", "unrecognised", "unsolved", "added_instead_of_multiplied_by_the_number")


def score_of(name: str, is_passed: bool, code: str = "", **more: Any) -> Score:
    """Return what a row holds of one check."""
    _, exercise, part, maximum = next(check for check in CHECKS if check[0] == name)
    if is_passed:
        return replace(Score(name, exercise, part, maximum, maximum, "pass", seconds=0.01), **more)
    score = Score(
        name, exercise, part, maximum, 0.0, "fail", code, "8", "16", "the number is squared, not doubled", 0.01
    )
    return replace(score, **more)


def make_rows(count: int = 44, lesson: str = LESSON, seed: int = 7) -> list[Row]:
    """Return the rows of a class whose abilities differ."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        ability = draw.random()
        checks = []
        for name, _, _, _ in CHECKS:
            is_passed = draw.random() < 0.15 + 0.8 * ability
            checks.append(score_of(name, is_passed, draw.choices(CODES, (5, 3, 2, 4))[0]))
        student = f"student{number:03d}"
        file = f"{student}/{lesson}/{lesson}.ipynb"
        rows.append(
            Row(student, lesson, GRADED, "", checks, file, f"{number:064x}", seconds=round(2 + 9 * draw.random(), 2))
        )
    return rows


def make_awkward(rows: list[Row]) -> list[Row]:
    """Return the rows with one of each that a person must look at."""
    lesson = rows[0].lesson
    none = [score_of(name, False, "unreadable", verdict="missing") for name, _, _, _ in CHECKS]
    tampered = score_of(
        "check_double", False, "tampered", verdict="tampered", measured="a negative control passed", look_at=""
    )
    withheld = score_of(
        "check_triple", False, "not_gradable", verdict="not_gradable", points=None, measured="no private loopback"
    )
    by_hand = score_of(
        "check_guess", False, "manual", verdict="manual", measured="a person gives these points, in formgrader"
    )
    passed = [score_of(name, True) for name, _, _, _ in CHECKS]
    return [
        *rows,
        Row(
            "cut",
            lesson,
            UNREADABLE,
            "the file stops in the middle: the upload was cut off. It has to be handed in again.",
            none,
        ),
        Row("broken", lesson, FAILED, "the grader failed: OSError", none),
        Row("cheat", lesson, GRADED, "", [tampered, *passed[1:]], "cheat/x.ipynb", "a"),
        Row("ranks", lesson, GRADED, "", [passed[0], withheld, passed[2]], "ranks/x.ipynb", "b"),
        Row("essay", lesson, GRADED, "", [*passed[:2], by_hand], "essay/x.ipynb", "c"),
    ]


def hand_in_attempts(classroom: Path, rows: list[Row], seed: int = 3) -> None:
    """Hand in a record with the notebooks of most students."""
    draw = random.Random(seed)
    for row in rows[: len(rows) * 3 // 4]:
        lines = []
        for check in row.checks:
            tries = draw.randint(1, 4)
            for number in range(1, tries + 1):
                is_last = number == tries
                code = "passed" if is_last and check.points else draw.choice(CODES)
                entry = {"exercise": check.exercise, "check": check.check, "code": code, "seconds": 0.01}
                lines.append(json.dumps(entry | {"attempt": number, "worked_seconds": draw.randint(20, 900)}))
        path = classroom / "submitted" / row.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name("attempts.jsonl").write_text("\n".join(lines) + "\nnot a record\n")
