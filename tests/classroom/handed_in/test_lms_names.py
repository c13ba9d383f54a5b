"""Names that learning management systems give, read without a setting."""

from __future__ import annotations

import pytest

from grader.classroom.handed_in.lms_names import LmsNames

LESSON = "04_number_formats"


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("extracted/lovelaceada_5151_901_04_number_formats.ipynb", "5151"),
        ("extracted/lovelaceada_LATE_5151_901_04_number_formats-2.ipynb", "5151"),
        ("Ada Lovelace_7070_assignsubmission_file/04_number_formats.ipynb", "7070"),
        ("extracted/Ada Lovelace_7070_assignsubmission_file_04_number_formats (1).ipynb", "7070"),
        ("extracted/Formats_alovelace_attempt_2026-01-30-15-00-09_04_number_formats.ipynb", "alovelace"),
        ("extracted/ada_lovelace_04_number_formats.ipynb", "ada_lovelace"),
        ("ada/04_number_formats.ipynb", "ada"),
    ],
)
def test_student_and_lesson_are_found(name: str, student: str) -> None:
    found = LmsNames().collect(f"/spring/downloaded/{LESSON}/{name}")
    assert (found["student_id"], found["file_id"]) == (student, LESSON)


def test_the_time_of_an_attempt_is_kept() -> None:
    found = LmsNames().collect("/spring/extracted/Formats_ada_attempt_2026-01-30-15-00-09_04_number_formats.ipynb")
    assert found["timestamp"] == "2026-01-30 15:00:09"


def test_attempts_come_with_the_notebook_and_other_files_do_not() -> None:
    assert LmsNames().collect("/spring/extracted/lovelaceada_5151_902_attempts.jsonl")["file_id"] == "attempts"
    assert LmsNames().collect("/spring/extracted/lovelaceada_5151_903_notes.pdf") is None


def test_an_unknown_name_is_reported_with_a_remedy(caplog: pytest.LogCaptureFixture) -> None:
    plugin = LmsNames()
    plugin.log.propagate = True
    assert plugin.collect("/spring/extracted/homework.ipynb") is None
    assert "Rename it to <student>_<lesson>.ipynb, or set named_regexp" in caplog.text


def test_an_expression_of_the_classroom_counts_alone() -> None:
    plugin = LmsNames(named_regexp=r".*/(?P<file_id>\w+)-(?P<student_id>\w+)\.ipynb")
    assert plugin.collect(f"/spring/extracted/{LESSON}-ada.ipynb")["student_id"] == "ada"
    assert plugin.collect(f"/spring/extracted/ada_{LESSON}.ipynb") is None
