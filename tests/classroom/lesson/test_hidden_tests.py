"""What an instructor hides stays hidden from feedback, also where a learner's code has seen it."""

from __future__ import annotations

import nbformat
import pytest
from small_course import code

from grader.classroom.lesson.hidden_tests import NOT_SHOWN, hide_hidden_tests, safe_message, telling_words
from grader.classroom.lesson.master import shown_results

CHECK = """\
assert triple(2) == 6, "triple(2) is not 6"
### BEGIN HIDDEN TESTS
assert triple(271828) == 815484, "a secret message"
### END HIDDEN TESTS"""


def test_a_message_is_shown_where_the_student_can_read_it_already() -> None:
    assert safe_message(CHECK, "triple(2) is not 6") == "triple(2) is not 6"
    assert safe_message(CHECK, "a secret message") == "an assertion does not hold"
    assert safe_message(CHECK, "triple(271828) was asked for") == "an assertion does not hold"


def test_outputs_of_a_check_with_hidden_tests_are_not_shown() -> None:
    cell = code(CHECK, "check_triple", points=3)
    cell.outputs = [nbformat.v4.new_output("stream", text="728172 backwards")]
    hidden = hide_hidden_tests(cell)
    assert hidden.outputs == []
    assert "HIDDEN" not in hidden.source
    assert "triple(2)" in hidden.source


def test_an_output_that_has_a_part_of_a_hidden_test_is_not_shown() -> None:
    check, own = code(CHECK, "check_triple", points=3), code("print(In)")
    own.outputs = [nbformat.v4.new_output("stream", text=text) for text in ("['', 271828]", "triple(2) is 6")]
    shown = hide_hidden_tests(own, telling_words([check, own]))
    assert [output.text for output in shown.outputs] == [NOT_SHOWN, "triple(2) is 6"]


@pytest.mark.parametrize(
    ("source", "results"),
    [
        ("assert True", (0, 0)),
        ("x = 1.0\nx", (1, 1)),
        ("x = 1.0\nx;", (0, 1)),
        ("check(double)", (0, 1)),
        ("check(double)\n4.0 - error", (1, 2)),
        ("%time x", (0, 10**6)),
    ],
)
def test_a_cell_shows_as_many_results_as_its_text_does(source: str, results: tuple[int, int]) -> None:
    assert shown_results(source) == results


def test_a_loop_shows_any_number_of_results() -> None:
    assert shown_results("for x in (1, 2):\n    check(x)\nx > 1")[1] > 100
