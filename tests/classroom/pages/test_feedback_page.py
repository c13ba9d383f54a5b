"""The feedback page says what was lost and why, shows nothing hidden, and asks no other server for anything."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from small_course import LESSON, code

from grader.classroom.commands.grading import Grading
from grader.classroom.pages.feedback import LONGEST_SOURCE, FeedbackExporter, _markdown
from grader.classroom.scoring.comments import three_lines
from grader.units import MIB

pytestmark = pytest.mark.slow
Room = tuple[Path, Grading]


def page_of(room: Room, student: str) -> str:
    return (room[0] / "feedback" / student / LESSON / f"{LESSON}.html").read_text()


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]).split())


def test_lost_check_shows_what_was_expected_and_measured_and_where_to_look(graded_room: Room) -> None:
    text = text_of(page_of(graded_room, "squared"))
    assert "3 of 5 points (60 %)" in text
    assert "Further, not part of the mark: 4 of 4 points" in text
    assert "check_double 0 of 2 not passed" in text
    assert "expected 8 measured 16 look at the number is squared, not doubled" in text


@pytest.mark.parametrize(
    "student", ["untouched", "edited", "endless", "exits", "kills", "dies_often", "nan", "half", "reset", "blanks"]
)
def test_every_lost_check_has_its_three_lines(graded_room: Room, student: str) -> None:
    page = page_of(graded_room, student)
    lost = re.findall(r"<dl class=\"lost\">(.*?)</dl>", page, re.DOTALL)
    rows = next(row for row in graded_room[1].rows if row.student == student)
    assert len(lost) == sum(check.points < check.maximum for check in rows.checks) > 0
    assert all(re.findall(r"<dt>(.*?)</dt><dd>.+</dd>", one) == ["expected", "measured", "look at"] for one in lost)


def test_page_needs_nothing_from_outside_and_fits_a_phone(graded_room: Room) -> None:
    for row in graded_room[1].rows:
        page = page_of(graded_room, row.student)
        assert "<script" not in page
        assert "http" not in page.replace("http-equiv", "")
        assert 'content="width=device-width' in page
        assert "default-src 'none'" in page


def test_page_has_nothing_hidden_and_nobody_elses_data(graded_room: Room) -> None:
    for row in graded_room[1].rows:
        page = page_of(graded_room, row.student)
        for hidden in ("hidden number", "secret of doubling", "HIDDEN TESTS", "triple(41)", str(graded_room[0])):
            assert hidden not in page, row.student
        assert re.findall(r"Feedback for (\w+)", page) == [row.student]


def test_feedback_for_an_unreadable_submission_says_what_to_do(graded_room: Room) -> None:
    assert "No notebook could be read: the file stops in the middle" in text_of(page_of(graded_room, "cut"))


def test_page_of_a_very_long_notebook_is_small_and_shows_the_answers_first() -> None:
    flood = [nbformat.v4.new_code_cell("x = [1]; " * 1000) for _ in range(1000)]
    picture = nbformat.v4.new_output("display_data", data={"image/png": "A" * MIB})
    flood[0].outputs = [picture] * 8
    long = code("y = 2\n" * 10**6, "long", is_answer=True)
    cells = [*flood, long, code("def double(n):\n    return 2 * n", "double", is_answer=True)]
    page, _ = FeedbackExporter().from_notebook_node(nbformat.v4.new_notebook(cells=cells))
    assert len(page) < 20 * MIB
    assert page.count("double") > 1
    assert str(6 * 10**6 - LONGEST_SOURCE) in page  # how much of the long answer is left out


def test_markdown_keeps_no_script_and_no_picture_of_another_server() -> None:
    source = "# Title\n\n<script>alert(1)</script>\n\n"
    source += "![badge](https://example.org/x.svg) ![dot](data:image/png;base64,AA==)"
    html = str(_markdown(source + "\n\n<a href='javascript:alert(1)'>here</a> <b onclick='x()'>bold</b>"))
    assert "Title</h1>" in html
    assert "<p>" in html
    assert 'src="data:image/png;base64,AA=="' in html
    for word in ("<script", "example.org", "javascript", "onclick", "¶"):
        assert word not in html


def test_three_lines_are_never_left_out() -> None:
    for verdict in ("fail", "error", "timeout", "died", "not_reached", "missing", "partial", "invented_later"):
        lines = three_lines(verdict, "double", {})
        assert [label for label, _ in lines] == ["expected", "measured", "look at"]
        assert all(text for _, text in lines)
