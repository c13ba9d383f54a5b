"""The class report says what the rows say, needs nothing from outside, and can be read without seeing its plots."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from large_class import hand_in_attempts, make_awkward, make_rows, score_of
from small_course import LESSON

from grader.__main__ import main
from grader.classroom.base.row import GRADED, MISSING, Row, Score
from grader.classroom.handed_in.roster import Student, write_roster
from grader.classroom.marks.report import write_report
from grader.classroom.pages.class_report.analysis import lesson_figures
from grader.classroom.pages.class_report.attempts import Attempt, is_first_passed, minutes_to_pass, read_attempts
from grader.classroom.pages.class_report.first_screen import Material, needs_help
from grader.classroom.pages.class_report.material import lesson_material
from grader.classroom.pages.class_report.writing import report_page, write_class_report


def page_of(rows: list[Row]) -> str:
    return report_page(rows, {})


def row_with(student: str, double: str, *, core: bool = True) -> Row:
    """Return a row in which check_double ended with this code, "" for a pass."""
    return Row(
        student,
        LESSON,
        GRADED,
        "",
        [score_of("check_double", not double, double), score_of("check_triple", core)],
    )


def test_figures_of_a_check_by_hand() -> None:
    rows = [row_with("a", ""), row_with("b", "squared"), row_with("c", "squared"), row_with("d", "unsolved")]
    attempts = {
        "a": [Attempt("check_double", "squared", 60.0), Attempt("check_double", "passed", 120.0)],
        "b": [Attempt("check_double", "passed", 600.0)],
        "c": [Attempt("check_triple", "passed", None)],
    }
    check = lesson_figures(LESSON, rows, attempts).checks[0]
    assert (check.n, check.passed, check.first_n, check.first_passed) == (4, 1, 2, 1)
    assert (check.minutes, check.minutes_n) == (6.5, 2)  # 3 and 10 minutes
    assert (check.codes, check.met) == ({"squared": 2, "unsolved": 1}, {"squared": 1})
    assert (check.answered_failures, check.is_gap, check.item) == (2, False, None)


@pytest.mark.parametrize(("unrecognised", "is_gap"), [(1, False), (2, True)])
def test_gap_is_more_than_a_fifth_of_the_failures_with_an_answer(unrecognised: int, is_gap: bool) -> None:
    codes = ["unrecognised"] * unrecognised + ["squared"] * (5 - unrecognised) + ["unsolved"] * 9
    rows = [row_with(str(number), code) for number, code in enumerate(codes)]
    assert lesson_figures(LESSON, rows, {}).checks[0].is_gap is is_gap
    assert ("Gap in the bank: check_double: 2 of 5" in page_of(rows)) is is_gap


def test_correlation_is_left_out_below_thirty_students_and_says_why() -> None:
    assert "Left out: 29 graded submissions" in page_of(make_rows(29))
    assert "correlation with the rest" not in page_of(make_rows(29))
    assert "correlation with the rest" in page_of(make_rows(30))


def test_check_is_compared_with_the_rest_and_not_with_itself() -> None:
    rows = [row_with(str(number), "" if number % 2 else "squared", core=number % 4 < 2) for number in range(40)]
    item = lesson_figures(LESSON, rows, {}).checks[0].item
    assert item is not None
    assert item.correlation == pytest.approx(0.0)  # the two checks are independent here; with itself it would be 0.5
    assert item.discrimination > 0.5


def test_withheld_and_missing_points_stay_out_of_the_figures() -> None:
    rows = make_awkward(make_rows(30))
    figures = {check.check: check.n for check in lesson_figures(LESSON, rows, {}).checks}
    assert figures == {"check_double": 32, "check_triple": 32, "check_guess": 32}


def test_page_names_everything_that_a_person_must_look_at() -> None:
    page = page_of(make_awkward(make_rows(2)))
    for words in (
        "check_double: tampered, points withheld",
        "check_triple: not gradable here",
        "check_guess: graded by hand, no points yet",
        ">unreadable<",
        "the grader failed: OSError",
    ):
        assert words in page
    assert "Nothing: every check was graded" in page_of(make_rows(2))


def test_page_needs_nothing_from_outside_and_every_plot_has_words_and_a_table() -> None:
    page = page_of(make_rows(40))
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=\"(?!#)", page)
    assert 'name="viewport"' in page
    assert "default-src 'none'" in page
    plots = re.findall(r"<svg viewBox.*?</svg>", page, re.DOTALL)
    assert len(plots) == 5
    for plot in plots:
        ElementTree.fromstring(plot)
        assert re.search(r'role="img" aria-label="[^"]{20,}"', plot)
        after = page.partition(plot)[2]
        assert after.lstrip().startswith("<table")


def test_text_of_learners_cannot_become_markup() -> None:
    row = row_with("<img src=x onerror=alert(1)>", "squared")
    row.checks[0] = dataclasses.replace(row.checks[0], needs_review=True, measured="<script>alert(1)</script>")
    page = page_of([row])
    assert "<img" not in page
    assert "<script" not in page


def test_memory_and_sandbox_are_shown_where_they_were_recorded() -> None:
    rows = make_rows(3)
    assert "peak memory" not in page_of(rows)
    page = page_of([dataclasses.replace(row, peak_bytes=512 * 2**20, sandbox="namespaces") for row in rows])
    assert "512.0 MiB" in page
    assert "Sandbox: namespaces." in page


def test_time_of_work_is_added_up_to_the_first_pass() -> None:
    tried = [
        Attempt("a", "wrong", 60.0),
        Attempt("b", "wrong", 999.0),
        Attempt("a", "passed", 30.0),
        Attempt("a", "passed", 9.0),
    ]
    assert minutes_to_pass(tried, "a") == 1.5
    assert minutes_to_pass(tried, "b") is None
    assert minutes_to_pass([Attempt("a", "passed", None)], "a") is None
    assert (is_first_passed(tried, "a"), is_first_passed(tried, "c")) == (False, None)


def test_stub_that_was_checked_is_no_attempt() -> None:
    validated = [Attempt("a", "unsolved", 5.0), Attempt("b", "unsolved", 1.0)]
    assert is_first_passed([*validated, Attempt("a", "passed", 60.0)], "a")
    assert is_first_passed(validated, "b") is None
    check = lesson_figures(LESSON, [row_with("a", "")], {"a": [Attempt("check_double", "unsolved", 5.0)]}).checks[0]
    assert (check.first_n, check.met) == (0, {})


def test_record_of_attempts_is_read_with_tolerance_and_no_link_is_followed(tmp_path: Path) -> None:
    row = make_rows(1)[0]
    lines = [
        {"check": "check_double", "code": "passed", "worked_seconds": 10_000},
        {"check": "check_double", "code": "<b>", "worked_seconds": 1},
        {"check": "check_double", "code": "squared", "worked_seconds": "NaN"},
        {"check": ["x"], "code": "squared"},
        17,
    ]
    path = (tmp_path / row.file).with_name("attempts.jsonl")
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(map(json.dumps, lines)) + '\n{"check": "torn')
    assert read_attempts(tmp_path, row) == [
        Attempt("check_double", "passed", 1800),
        Attempt("check_double", "squared", None),
    ]
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert read_attempts(tmp_path, row) == []
    path.unlink()
    os.mkfifo(path)
    assert read_attempts(tmp_path, row) == []


def test_command_writes_the_report_of_the_last_grading(
    new_room: Callable[[], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    room = new_room()
    assert main(["report", str(room)]) == 2
    assert "no marks yet" in capsys.readouterr().err
    rows = make_rows(31)
    hand_in_attempts(room, rows)
    write_roster(room, [Student(row.student) for row in rows[1:]] + [Student("absent", "Ada Lovelace")])
    write_report(room, rows)
    assert main(["report", str(room)]) == 0
    page = write_class_report(room).read_text()
    assert "23 handed in a record of attempts" in page
    assert "1 student of the roster handed in nothing" in page
    assert "Ada Lovelace (absent)" in page
    assert "Not on the roster, but handed in work: student000." in page
    assert page == (room / "report.html").read_text()


def test_first_screen_says_how_they_did_who_needs_help_and_what_to_teach() -> None:
    rows = [row_with("a", ""), row_with("b", "squared"), row_with("c", "squared", core=False)]
    examples = {("double", "squared"): "def double(number):\n    return number ** 2"}
    page = report_page(rows, {}, (), {LESSON: Material({"double": "Twice a number"}, examples)})
    first = page.partition("Students by checks")[0]
    assert "Median 60 % of the core points" in first
    assert "1 of 3 have all of them." in first
    assert "1 without an answer" not in first
    assert "2 students · 4 points" in first
    assert "section: Twice a number" in first
    assert "return number ** 2" in first


def test_map_of_students_says_each_check_in_words() -> None:
    page = page_of([row_with("a", ""), row_with("b", "unsolved")])
    lines = re.findall(r'<tr><th scope="row">(\w)</th>(.*?)</tr>', page)
    assert [student for student, _ in lines] == ["a", "b"]
    assert "full points" in lines[0][1]
    assert "no answer" in lines[1][1]


def test_who_repeats_a_failure_is_stuck_and_who_is_missing_was_never_seen() -> None:
    rows = [row_with("a", "squared"), Row("b", LESSON, MISSING, "not handed in", [])]
    tried = {"a": [Attempt("check_double", "squared", 60.0)] * 3}
    found = needs_help(lesson_figures(LESSON, rows, tried))
    assert [(student, kind) for student, kind, _ in found] == [("b", "never seen"), ("a", "stuck")]


def test_example_has_no_name_of_a_student_and_no_comment(new_room: Callable[[], Path]) -> None:
    room = new_room()
    for student, line in (("ada", "by_ada = 2"), ("bob", "# from bob\n    square = number")):
        cell = nbformat.v4.new_code_cell(
            f'def double(number):\n    """I am {student}."""\n    {line}\n    return number'
        )
        path = room / "submitted" / student / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    rows = [dataclasses.replace(row_with(s, "squared"), file=f"{s}/{LESSON}/{LESSON}.ipynb") for s in ("ada", "bob")]
    examples = lesson_material(room, LESSON, rows).examples
    assert examples["double", "squared"] == "def double(number):\n    square = number\n    return number"


def plain_score(check: str, exercise: str, right: bool) -> Score:
    return Score(check, exercise, "core", 1.0, float(right), "pass" if right else "fail", "" if right else "wrong")


def inventory_row(student: str, form: str, right: bool) -> Row:
    lesson = f"{dict(before=90, after=91)[form]}_inventory_{form}"
    return Row(student, lesson, GRADED, "", [plain_score(f"check_peak_{form}", "answer_peak", right)])


def test_the_change_of_an_idea_is_that_of_students_who_answered_both_tests() -> None:
    rows = [inventory_row(f"s{n}", "before", n < 2) for n in range(8)]
    rows += [inventory_row(f"s{n}", "after", n != 7) for n in range(2, 9)] + [inventory_row("s0", "after", True)]
    page = page_of(rows)
    section = page.partition("Before and after the course</h2>")[2]
    assert "7 students took both tests" in section
    row = re.sub(r"<[^>]+>", " ", section.partition("<tbody>")[2].partition("</tbody>")[0]).split()
    assert " ".join(row).startswith("peak 7 14 % 86 % +71 ")


def test_a_question_without_an_answer_is_neither_right_nor_wrong() -> None:
    stub = dataclasses.replace(plain_score("check_peak_before", "answer_peak", False), code="unsolved")
    rows = [inventory_row(f"s{n}", "before", False) for n in range(3)] + [
        inventory_row(f"s{n}", "after", True) for n in range(4)
    ]
    rows.append(Row("s3", "90_inventory_before", GRADED, "", [stub]))
    section = page_of(rows).partition("Before and after the course</h2>")[2]
    assert "4 students took both tests" in section
    row = re.sub(r"<[^>]+>", " ", section.partition("<tbody>")[2].partition("</tbody>")[0]).split()
    assert " ".join(row).startswith("peak 3 0 % 100 % +100 ")


def test_a_class_that_took_one_test_has_no_change() -> None:
    assert "Before and after the course" not in page_of([inventory_row("s1", "before", True)])
    both = page_of([inventory_row("s1", "before", True), inventory_row("s2", "after", True)])
    assert "Nobody has answered both tests yet." in both


def test_an_objective_counts_where_all_of_its_checks_have_full_points() -> None:
    forms = ("accelerate", "trainer")
    rows = [
        Row(
            student,
            "00_three_forms",
            GRADED,
            "",
            [plain_score(f"check_{form}_run", f"train_with_{form}", form in passed) for form in forms],
        )
        for student, passed in (("a", forms), ("b", forms[:1]))
    ]
    section = page_of(rows).partition("Success by objective")[2].partition("Success by check")[0]
    assert "Make Accelerate and the Trainer end with the same weights as your loop" in section
    assert "1 of 2 (50\u00a0%)" in section and "raw" not in section
