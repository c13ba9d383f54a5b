"""A mark that changes is explained check by check."""

from __future__ import annotations

from dataclasses import replace

from grader.classroom.base.row import GRADED, Row, Score
from grader.classroom.marks.rows import changed_marks


def score(name: str, points: float | None, code: str = "", *, maximum: float = 2, part: str = "core") -> Score:
    return Score(name, "", part, maximum, points, "pass" if points == maximum else "fail", code)


def make_row(*scores: Score, student: str = "ada", digest: str = "d1") -> Row:
    return Row(student, "02", GRADED, "", list(scores), digest=digest)


BEFORE = make_row(score("check_peak", 2), score("check_scale", 0, "not_divided"))
AFTER = make_row(score("check_peak", 0, "too_high"), score("check_scale", 0, "unrecognised"))


def test_changed_mark_is_reported_for_each_check_with_its_code() -> None:
    assert changed_marks([make_row(student="bob"), BEFORE], AFTER) == [
        "ada 02: 50.0 % -> 0.0 %",
        "    check_peak: 2/2 (pass) -> 0/2 (too_high)",
    ]


def test_equal_points_and_new_submissions_are_no_change() -> None:
    assert changed_marks([BEFORE], BEFORE) == []
    assert changed_marks([BEFORE], replace(AFTER, digest="d2")) == []
    assert changed_marks([], AFTER) == []


def test_points_that_a_person_has_yet_to_give_are_reported_as_none_yet() -> None:
    by_hand = score("check_peak", None, "not_gradable")
    lines = changed_marks([BEFORE], make_row(by_hand, score("check_scale", 0, "not_divided")))
    assert lines[1:] == ["    check_peak: 2/2 (pass) -> none yet (not_gradable)"]


def test_check_that_came_or_went_is_a_change() -> None:
    lines = changed_marks([BEFORE], make_row(score("check_peak", 2), score("check_new", 1, "half")))
    assert lines[1:] == [
        "    check_scale: 0/2 (not_divided) -> not there",
        "    check_new: not there -> 1/2 (half)",
    ]
