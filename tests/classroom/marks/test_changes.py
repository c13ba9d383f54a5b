"""What an instructor reads when a mark changes, and how long the rest takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.classroom.base.progress import Progress, rough_duration
from grader.classroom.base.row import GRADED, Row
from grader.classroom.marks.rows import changed_marks


def check(name: str, points: float, code: str = "", *, maximum: float = 2, part: str = "core") -> dict[str, object]:
    verdict = "pass" if points == maximum else "fail"
    return {"check": name, "points": points, "maximum": maximum, "code": code, "verdict": verdict, "part": part}


def make_row(*checks: dict[str, object], student: str = "ada", digest: str = "d1") -> Row:
    return Row(student, "02", GRADED, "", list(checks), digest=digest)


BEFORE = make_row(check("check_peak", 2), check("check_scale", 0, "not_divided"))
AFTER = make_row(check("check_peak", 0, "too_high"), check("check_scale", 0, "unrecognised"))


def test_changed_mark_is_told_for_each_check_with_its_code() -> None:
    assert changed_marks([make_row(student="bob"), BEFORE], AFTER) == [
        "ada 02: 50.0 % -> 0.0 %",
        "    check_peak: 2/2 (pass) -> 0/2 (too_high)",
    ]


def test_equal_points_and_new_submissions_are_no_change() -> None:
    assert changed_marks([BEFORE], BEFORE) == []
    assert changed_marks([BEFORE], replace(AFTER, digest="d2")) == []
    assert changed_marks([], AFTER) == []


def test_points_that_a_person_gives_later_are_told_so() -> None:
    by_hand = check("check_peak", 0, "not_gradable") | {"points": None}
    lines = changed_marks([BEFORE], make_row(by_hand, check("check_scale", 0, "not_divided")))
    assert lines[1:] == ["    check_peak: 2/2 (pass) -> none yet (not_gradable)"]


def test_check_that_came_or_went_is_a_change() -> None:
    lines = changed_marks([BEFORE], make_row(check("check_peak", 2), check("check_new", 1, "half")))
    assert lines[1:] == [
        "    check_scale: 0/2 (not_divided) -> not there",
        "    check_new: not there -> 1/2 (half)",
    ]


def test_time_left_follows_the_submissions_that_ended_last() -> None:
    times = iter([0.0, 60.0, 120.0, 121.0])
    progress = Progress(12, lambda: next(times))
    assert progress.next_done() == "[  1/12, about 11 min left ]"
    assert progress.next_done() == "[  2/12, about 10 min left ]"
    assert progress.next_done() == "[  3/12, about 6 min left ]"


def test_after_the_last_submission_no_time_is_left() -> None:
    assert Progress(1).next_done() == "[ 1/1 ]"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "1 s"), (89, "89 s"), (95, "2 min"), (5300, "88 min"), (9000, "2.5 h")]
)
def test_duration_is_rough(seconds: float, text: str) -> None:
    assert rough_duration(seconds) == text
