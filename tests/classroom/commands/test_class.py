"""A class of hostile, faulty and honest submissions gets its points, and its instructor the reasons."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from small_course import LESSON

from grader.classroom.base.row import GRADED, STOPPED, UNREADABLE, Row
from grader.classroom.commands.grading import Grading
from grader.classroom.commands.screen_lines import row_lines

Room = tuple[Path, Grading]
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("student", "core", "further"),
    [
        ("solved", 5, 4),
        ("untouched", 0, 0),
        ("tagged", 0, 0),
        ("copied", 5, 4),
        ("deleted", 5, 4),
        ("colab", 5, 4),
        ("edited", 0, 0),
        ("noisy", 5, 4),
        ("squared", 3, 4),
        ("endless", 2, 4),
        ("exits", 2, 4),
        ("quits", 5, 4),
        ("kills", 2, 4),
        ("dies_often", 2, 0),
        ("nan", 5, 0),
        ("half", 5, 2),
        ("reset", 3, 4),
        ("blanks", 0, 0),
    ],
)
def test_each_submission_earns_what_its_answers_are_worth(
    rows: dict[str, Row], student: str, core: float, further: float
) -> None:
    assert (rows[student].points("core"), rows[student].points("further")) == (core, further)
    assert (rows[student].maximum("core"), rows[student].maximum("further")) == (5, 4)


@pytest.mark.parametrize(
    ("student", "reason"),
    [
        ("cut", "stops in the middle"),
        ("empty", "is empty"),
        ("conflict", "line 2 has a conflict mark of git"),
        ("other_json", "no notebook"),
        ("big", "more than 64.0 MiB"),
        ("link", "is a link"),
        ("linked_folder", "is a link"),
        ("folder", "is a folder"),
        ("nothing", "the folder is empty"),
        ("pipe", "not a plain file"),
    ],
)
def test_unreadable_submission_has_a_row_with_the_reason(rows: dict[str, Row], student: str, reason: str) -> None:
    row = rows[student]
    assert (row.status, row.mark_percent) == (UNREADABLE, 0)
    assert reason in row.reason
    assert all(check.code == "unreadable" for check in row.checks)


def test_lost_point_is_explained_with_code_and_three_fields(rows: dict[str, Row]) -> None:
    check = rows["squared"].checks[0]
    assert (check.verdict, check.code, check.points, check.maximum) == ("fail", "squared", 0, 2)
    assert (check.expected, check.measured) == ("8", "16")
    assert check.look_at == "the number is squared, not doubled"
    assert "check_double  0/2    squared: 16; the number is squared, not doubled" in row_lines(rows["squared"])[1]


@pytest.mark.parametrize(
    ("student", "verdicts"),
    [
        ("solved", ["pass", "pass", "pass"]),
        ("untouched", ["fail", "fail", "fail"]),
        ("endless", ["pass", "error", "pass"]),
        ("exits", ["pass", "error", "pass"]),
        ("half", ["pass", "pass", "partial"]),
        ("blanks", ["tampered", "tampered", "tampered"]),
    ],
)
def test_each_check_has_a_verdict(rows: dict[str, Row], student: str, verdicts: list[str]) -> None:
    assert [check.verdict for check in rows[student].checks] == verdicts


def test_dead_kernel_costs_its_own_points_and_the_rest_runs_in_a_new_one(rows: dict[str, Row]) -> None:
    assert rows["exits"].status == GRADED
    assert "the kernel died in the cell of triple" in rows["exits"].reason


def test_a_kernel_cannot_kill_what_watches_over_it(rows: dict[str, Row]) -> None:
    assert (rows["kills"].status, rows["kills"].reason) == (GRADED, "")


def test_a_notebook_that_keeps_killing_its_kernel_is_given_up(rows: dict[str, Row]) -> None:
    assert rows["dies_often"].status == STOPPED
    assert rows["dies_often"].reason.count("the kernel died in a cell of the learner's own") == 4
    assert [check.verdict for check in rows["dies_often"].checks] == ["pass", "not_reached", "not_reached"]


def test_endless_loop_costs_its_own_points_and_is_named(rows: dict[str, Row]) -> None:
    assert rows["endless"].status == GRADED
    assert "the cell of triple: it was stopped" in rows["endless"].checks[1].look_at


def test_instructor_is_told_what_was_assumed(rows: dict[str, Row]) -> None:
    assert "triple: the cell is there 2 times; the last one counts" in rows["copied"].reason
    assert f"was taken for {LESSON}.ipynb" in rows["colab"].reason
    assert rows["solved"].reason == ""


def test_stray_files_are_reported_and_not_graded(graded_room: Room) -> None:
    assert any("notes.txt" in line for line in graded_room[1].left_out)


def test_marks_have_one_row_per_submission(graded_room: Room, rows: dict[str, Row]) -> None:
    with (graded_room[0] / "marks.csv").open() as file:
        marks = {line["student"]: line for line in csv.DictReader(file)}
    assert set(marks) == set(rows)
    assert marks["squared"]["mark_percent"] == "60.0"
    assert (marks["half"]["further_points"], marks["half"]["further_maximum"]) == ("2", "4")
    assert marks["cut"]["status"] == UNREADABLE
    assert "cut off" in marks["cut"]["reason"]


def test_report_has_every_check_and_the_versions(graded_room: Room) -> None:
    report = json.loads((graded_room[0] / "grading.json").read_text())
    assert {"python", "nbgrader"} <= set(report["versions"])
    entry = next(entry for entry in report["submissions"] if entry["student"] == "solved")
    assert [check["check"] for check in entry["checks"]] == ["check_double", "check_triple", "check_guess"]
    assert entry["digest"]
    assert entry["received"]


def test_gradebook_holds_the_same_points(graded_room: Room, rows: dict[str, Row]) -> None:
    with Gradebook(f"sqlite:///{graded_room[0]}/gradebook.db") as gradebook:
        for student, row in rows.items():
            submission = gradebook.find_submission(LESSON, student)
            assert submission.score == row.points("core") + row.points("further"), student
            assert all(grade.auto_score is not None for book in submission.notebooks for grade in book.grades)


def test_withheld_points_wait_for_a_person_in_the_gradebook_and_accuse_nobody(
    graded_room: Room, rows: dict[str, Row]
) -> None:
    assert [check.verdict for check in rows["blanks"].checks] == 3 * ["tampered"]
    assert "check_double: please look at it" in rows["blanks"].reason
    with Gradebook(f"sqlite:///{graded_room[0]}/gradebook.db") as gradebook:
        (notebook,) = gradebook.find_submission(LESSON, "blanks").notebooks
        assert all(grade.needs_manual_grade and grade.auto_score == 0 for grade in notebook.grades)
    page = (graded_room[0] / rows["blanks"].feedback).read_text()
    assert "no points yet: a person looks at this check" in page
    assert "tampered" not in page


def test_feedback_gives_reasons_and_hides_solution_and_hidden_tests(graded_room: Room, rows: dict[str, Row]) -> None:
    for student, row in rows.items():
        page = (graded_room[0] / row.feedback).read_text()
        assert row.feedback == f"feedback/{student}/{LESSON}/{LESSON}.html"
        assert "secret of doubling" not in page
        assert "hidden number" not in page
        assert "BEGIN HIDDEN" not in page
    assert "the number is squared, not doubled" in (graded_room[0] / rows["squared"].feedback).read_text()


def test_linked_file_is_copied_nowhere(graded_room: Room) -> None:
    room = graded_room[0]
    assert not [path for path in (room / "autograded").rglob("*") if path.is_symlink()]
    assert "number + number" not in (room / "autograded" / "link" / LESSON / f"{LESSON}.ipynb").read_text()


def test_secret_is_for_its_owner_alone(graded_room: Room) -> None:
    assert (graded_room[0] / "secret").stat().st_mode & 0o777 == 0o600
