"""The picture of what builds on what: complete, in order, and with every arrow in sight."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from grader.authoring.plan import PlannedLesson, read_planned
from grader.authoring.release import select_sources

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
from sequence import describe_sequence, draw_sequence, hidden_arrows, needed_arrows, place_lessons  # noqa: E402


def course(**after: str) -> list[PlannedLesson]:
    """Return lessons by number, each with the numbers that it builds on: `course(l00="", l01="00")`."""
    return [
        PlannedLesson(f"{name[1:]}_topic", f"{name[1:]}. Topic", 60, 0, tuple(on.split())) for name, on in after.items()
    ]


COURSES = {
    "released": read_planned(select_sources(ROOT)),
    "one": course(l00=""),
    "chain": course(l00="", l01="00", l02="01"),
    "two ends": course(l00="", l01="00", l02="00", l03="01 02"),
    "two beginnings": course(l00="", l01="", l02="00 01"),
    "a long way down": course(l00="", l01="00", l02="01", l03="02", l04="00 03", l05="00"),
    "joined across a row": course(l00="", l01="00", l02="00", l03="00", l04="01", l05="02", l06="04 03"),
}


@pytest.fixture(params=COURSES.values(), ids=COURSES.keys())
def lessons(request: pytest.FixtureRequest) -> list[PlannedLesson]:
    return request.param


def test_each_lesson_has_a_place_of_its_own_below_those_that_it_builds_on(lessons: list[PlannedLesson]) -> None:
    places = place_lessons(lessons)
    assert list(places) == [lesson.number for lesson in lessons]
    assert len(set(places.values())) == len(lessons)
    for lesson in lessons:
        assert all(places[number][1] < places[lesson.number][1] for number in lesson.after)


def test_no_arrow_passes_behind_a_box(lessons: list[PlannedLesson]) -> None:
    assert not hidden_arrows(place_lessons(lessons), needed_arrows(lessons))


def test_following_the_arrows_reaches_what_a_lesson_states_and_no_arrow_is_invented(
    lessons: list[PlannedLesson],
) -> None:
    arrows = needed_arrows(lessons)
    reached: dict[str, set[str]] = {}
    for lesson in lessons:
        before = {number for number, after in arrows if after == lesson.number}
        reached[lesson.number] = before.union(*(reached[number] for number in before))
        assert before <= set(lesson.after) <= reached[lesson.number]


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    assert needed_arrows(course(l00="", l01="00", l02="00 01")) == [("00", "01"), ("01", "02")]


def test_an_arrow_behind_a_box_is_found() -> None:
    places = {"00": (0, 0), "01": (0, 1), "02": (0, 2), "03": (2, 2)}
    assert hidden_arrows(places, [("00", "01"), ("00", "02"), ("00", "03")]) == [("00", "02")]


def test_the_text_says_every_arrow() -> None:
    lessons = course(l00="", l01="00", l02="00", l03="01 02")
    assert describe_sequence(lessons) == "01 builds on 00; 02 builds on 00; 03 builds on 01 and 02"


def test_the_picture_is_the_same_each_time_and_holds_a_box_and_an_arrow_for_each() -> None:
    lessons = COURSES["released"]
    picture = draw_sequence(lessons)
    assert picture == draw_sequence(lessons)
    shapes = [shape.get("id", "") for shape in ElementTree.fromstring(picture).iter()]
    assert sum(name.startswith("text_") for name in shapes) >= len(lessons)
    assert sum(name.startswith("patch_") for name in shapes) >= len(lessons) + len(needed_arrows(lessons))
