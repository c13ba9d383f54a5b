"""nbgrader writes everything for one submission, or nothing."""

from __future__ import annotations

import os
import sqlite3
import sysconfig
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from grader.classroom.gradebook.transactions import OpenGradebook


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"), prepend=os.pathsep)  # nbgrader calls alembic by name
    address = f"sqlite:///{tmp_path}/gradebook.db"
    with Gradebook(address) as book:
        book.add_assignment("lesson")
    return address


def students(url: str) -> list[str]:
    with Gradebook(url) as book:
        return [student.id for student in book.students]


def test_what_is_written_in_a_transaction_remains_after_it(url: str) -> None:
    opened = OpenGradebook(url, "default_course")
    with opened.transaction():
        with Gradebook(url) as book:
            book.update_or_create_student("ada")
        with Gradebook(url) as book:
            assert book.find_student("ada").id == "ada"
            assert book.find_assignment("lesson").name == "lesson"
    assert students(url) == ["ada"]


def test_nothing_of_a_submission_that_fails_is_written(url: str) -> None:
    opened = OpenGradebook(url, "default_course")
    with pytest.raises(RuntimeError, match="a step failed"), opened.transaction():
        with Gradebook(url) as book:
            book.update_or_create_student("ada")
        raise RuntimeError("a step failed")
    assert students(url) == []


def test_others_read_the_gradebook_meanwhile_and_see_whole_submissions(url: str) -> None:
    with OpenGradebook(url, "default_course").transaction():
        with Gradebook(url) as book:
            book.update_or_create_student("ada")
        with sqlite3.connect(url.removeprefix("sqlite:///")) as other:
            assert other.execute("SELECT count(*) FROM student").fetchone() == (0,)
        other.close()


def test_another_gradebook_is_opened_as_always(url: str, tmp_path: Path) -> None:
    elsewhere = f"sqlite:///{tmp_path}/other.db"
    with Gradebook(elsewhere):
        pass
    with OpenGradebook(url, "default_course").transaction(), Gradebook(elsewhere) as book:
        book.add_student("eve")
    assert (students(url), students(elsewhere)) == ([], ["eve"])


def test_no_descriptor_stays_open(url: str) -> None:
    opened = OpenGradebook(url, "default_course")
    before = len(os.listdir("/proc/self/fd"))
    for number in range(3):
        with opened.transaction(), Gradebook(url) as book:
            book.update_or_create_student(f"student{number}")
    assert len(os.listdir("/proc/self/fd")) == before
