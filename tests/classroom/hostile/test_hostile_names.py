"""Folders and files of any name: the class is graded to its end, and every student has a row."""

from __future__ import annotations

import csv
import errno
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from small_class import NewRoom, release_of
from small_course import hand_in, solved

from grader.__main__ import main
from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import FAILED, GRADED, read_rows
from grader.classroom.commands import grading
from grader.classroom.commands.grading import grade_class
from grader.classroom.gradebook.course import Course
from grader.classroom.handed_in.lms_names import LmsNames

# The name of a student's folder, and the id by which the student is listed.
FOLDERS = {
    b"Lovelace [123]": "Lovelace [123]",
    b"[a-z]": "[a-z]",
    b"*": "*",
    b"new\nline": "new%0Aline",
    b"re\rturn": "re%0Dturn",
    b"\x1b[31mred": "%1B[31mred",
    b"Ren\xe9e": "Ren%E9e",
    b"100%\xff": "100%25%FF",
    b"{0} (?P<x>\\d)": "{0} (?P<x>\\d)",
    b"=1+1": "=1+1",
    b"\xff" * 120: "%FF" * 33 + "%~",
}
FULL = "100.0"


@pytest.fixture(scope="module")
def room(new_room: NewRoom) -> Path:
    room = new_room()
    done = solved(release_of(room))
    for folder in FOLDERS:
        hand_in(room, os.fsdecode(folder), done)
    for student in ("ada", "ada ", ".ada"):
        hand_in(room, student, done)
    hand_in(room, "file", done, os.fsdecode(b"Ren\xe9e.ipynb"))
    return room


def test_class_with_odd_names_is_graded_to_its_end(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["autograde", str(room)]) == 0
    said = capsys.readouterr().out
    assert "submitted/.ada: a hidden folder is not graded" in said
    with (room / "marks.csv").open(encoding="utf-8") as file:
        marks = {line["student"].removeprefix("'"): line for line in csv.DictReader(file)}
    assert {name: line["mark_percent"] for name, line in marks.items() if line["mark_percent"] != FULL} == {}
    for folder, listed in FOLDERS.items():
        name = next(name for name in marks if name == listed or (listed.endswith("~") and name.startswith(listed)))
        assert ("the folder's name is odd" in marks[name]["reason"]) == (name != os.fsdecode(folder))
    assert "'ada ' is a folder of the same student" in marks["ada"]["reason"]
    assert "Ren%E9e.ipynb was taken" in marks["file"]["reason"]
    rows = read_rows(room)
    assert len(rows) == len(marks) == len(FOLDERS) + 2
    assert all((room / row.feedback).is_file() and row.feedback for row in rows)
    assert main(["export", str(room)]) == 0


def test_two_attachments_of_one_student_are_both_collected_and_the_later_one_counts(tmp_path: Path) -> None:
    names = ["ada_5151_99_04_number_formats.ipynb", "ada_5151_100_04_number_formats-1.ipynb"]
    again = tmp_path / "another.zip" / names[1]
    for path in (tmp_path / names[0], tmp_path / names[1], again):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    plugin = LmsNames()
    collected = [plugin.collect(str(path)) for path in sorted([tmp_path / names[0], tmp_path / names[1], again])]
    assert {found["student_id"] for found in collected} == {"5151"}
    assert sorted(found["file_id"] for found in collected) == [
        "04_number_formats",
        "04_number_formats (2)",
        "04_number_formats (3)",
    ]


COLLECTED = {  # the name in a zip, and the student whose it is; None for one that would leave the folder
    "lovelaceada_5151_99_07_small_numbers.ipynb": "5151",
    "lovelaceada_5151_100_07_small_numbers-1.ipynb": "5151",
    "grüße_LATE_6161_7_07_small_numbers.ipynb": "6161",
    "=1+1_07_small_numbers.ipynb": "=1+1",
    "bob [1]_07_small_numbers.ipynb": "bob [1]",
    ".._07_small_numbers.ipynb": None,
    "notes.txt": None,
}


def zip_collect(room: Path, contents: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the instructor's command on a zip with these files."""
    archive = room / "downloaded" / "07_small_numbers" / "archive" / "class.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as file:
        for name, text in contents.items():
            file.writestr(name, text)
    command = [sys.executable, "-m", "nbgrader", "zip_collect", "07_small_numbers"]
    return subprocess.run(command, cwd=room, capture_output=True, text=True, timeout=120)


def around(room: Path) -> set[Path]:
    """Return what is next to a classroom."""
    return {path for path in room.parent.rglob("*") if room not in (path, *path.parents)}


def test_odd_zip_is_collected_and_graded(new_room: NewRoom) -> None:
    room = new_room()
    unsolved, done = (json.dumps(notebook) for notebook in (release_of(room), solved(release_of(room))))
    before = around(room)
    collected = zip_collect(room, {name: unsolved if "_99_" in name else done for name in COLLECTED})
    assert collected.returncode == 0, collected.stderr[-2000:]
    students = {name for name in COLLECTED.values() if name}
    assert {path.name for path in (room / "submitted").iterdir()} == students
    assert around(room) == before
    rows = {row.student: row for row in grade_class(room).rows}
    assert {student: row.mark_percent for student, row in rows.items()} == dict.fromkeys(students, 100.0)
    assert "also there: 07_small_numbers (2).ipynb" in rows["5151"].reason


def test_zip_that_leaves_its_folder_is_not_unpacked(new_room: NewRoom) -> None:
    room = new_room()
    before = around(room)
    assert zip_collect(room, {"../../../escaped_07_small_numbers.ipynb": "{}"}).returncode != 0
    assert around(room) == before
    assert not list(room.rglob("*escaped*"))


@pytest.mark.parametrize("student", ["..", ".", ".ada"])
def test_student_whose_folder_would_be_elsewhere_is_not_collected(student: str) -> None:
    assert LmsNames().collect(f"/spring/extracted/{student}_04_number_formats.ipynb") is None
    plugin = LmsNames(named_regexp=r".*/(?P<student_id>[^/]+)_(?P<file_id>04_\w+)\.ipynb")
    assert plugin.collect(f"/spring/extracted/{student}_04_number_formats.ipynb") is None


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_folder_that_cannot_be_written_stops_the_class_and_costs_no_mark(
    new_room: NewRoom, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    room = new_room()
    hand_in(room, "ada", solved(release_of(room)))
    grade_class(room)
    marks = (room / "marks.csv").read_text()

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number), "autograded/ada")

    monkeypatch.setattr(Course, "autograde", refuse)
    with pytest.raises(ClassroomError, match=r"cannot be used \(autograded/ada: .*\). Make it writable"):
        grade_class(room)
    assert (room / "marks.csv").read_text() == marks


def test_good_row_is_never_replaced_by_a_failed_one(new_room: NewRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    room = new_room()
    hand_in(room, "ada", solved(release_of(room)))
    (before,) = grade_class(room).rows

    def fail(*_: object) -> None:
        raise RuntimeError("a fault of the grader's own")

    monkeypatch.setattr(grading.Course, "autograde", fail)
    hand_in(room, "bob", solved(release_of(room)))
    ada, bob = grade_class(room).rows
    assert (ada.status, ada.mark_percent) == (GRADED, before.mark_percent)
    assert "the grader failed: RuntimeError" in ada.reason
    assert bob.status == FAILED
