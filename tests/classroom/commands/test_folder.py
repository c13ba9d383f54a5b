"""A classroom keeps what its instructor changed, grades again with equal marks, and explains what stops it."""

from __future__ import annotations

import csv
import errno
import sqlite3
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from small_class import release_of
from small_course import LESSON, answer, build_small_master, cell_of, code, hand_in, solved

from grader.__main__ import main
from grader.classroom.base import storage
from grader.classroom.base.errors import ClassroomError
from grader.classroom.commands import folder
from grader.classroom.commands.folder import make_classroom
from grader.classroom.commands.grading import grade_class
from grader.classroom.gradebook import course as gradebook
from grader.classroom.jobs.seeds import SEEDS, classroom_secret, kernel_environment, submission_seed
from grader.classroom.lesson.master import master_path
from grader.classroom.marks import report

OTHER = "08_other_numbers"
SOURCES = {LESSON: Path("small.py"), OTHER: Path("other.py")}


@pytest.fixture
def room(new_room: Callable[[], Path]) -> Path:
    return new_room()


def test_points_list_has_every_check(room: Path) -> None:
    with (room / "points.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["check"], row["points"], row["part"]) for row in rows] == [
        ("check_double", "2", "core"),
        ("check_triple", "3", "core"),
        ("check_guess", "4", "further"),
    ]


def test_edited_points_list_is_not_lost_and_not_believed(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = room / "points.csv"
    written = path.read_text()
    path.write_text("\ufeff" + written.replace(",", ";"))  # a spreadsheet saved it
    assert main(["autograde", str(room)]) == 0
    path.write_text(written.replace("check_double,double,2", "check_double,double,20"))
    capsys.readouterr()
    assert main(["autograde", str(room)]) == 2
    assert "was edited, and that changes no points" in capsys.readouterr().err
    assert "check_double,double,20" in path.read_text()
    path.unlink()
    assert main(["autograde", str(room)]) == 0
    assert path.read_text() == written


def test_place_that_nobody_can_write_to_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["classroom", "/proc/spring", "--lessons", "04"]) == 2
    assert "/proc/spring cannot be made: No such file or directory. Name a folder" in capsys.readouterr().err


def test_classroom_in_the_repository_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.repository())
    assert main(["classroom", "spring", "--lessons", "04"]) == 2
    assert "spring is inside the course's repository" in capsys.readouterr().err
    assert not Path("spring").exists()


def test_work_in_a_folder_that_is_no_lesson_is_reported(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hand_in(room, "ada", "{")
    wrong = room / "submitted" / "ada" / "07_smal_numbers"
    wrong.mkdir()
    (wrong / "07_smal_numbers.ipynb").write_text("{}")
    assert main(["autograde", str(room)]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[1] == LESSON
    assert "left out: submitted/ada/07_smal_numbers: no lesson of this classroom is called so" in said


def test_folder_in_place_of_a_file_is_rejected(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (room / "marks.csv").mkdir()
    hand_in(room, "bob", "{")
    assert main(["autograde", str(room)]) == 2
    assert "A folder has the name of a file. Move it away" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("-j", "0"), ("-j", "two"), ("--cell-seconds", "-5")])
def test_numbers_without_sense_are_refused(
    room: Path, words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["autograde", str(room), *words])
    assert ended.value.code == 2
    assert f"{words[1]!r} is not a whole number of 1 or more" in capsys.readouterr().err


def test_release_has_neither_solution_nor_hidden_tests(room: Path) -> None:
    text = nbformat.writes(release_of(room))
    assert "secret of doubling" not in text
    assert "hidden number" not in text
    assert [path.name for path in (room / "source" / LESSON).iterdir()] == [f"{LESSON}.ipynb"]


@pytest.mark.slow
def test_instructors_edits_survive_and_count(room: Path) -> None:
    path = master_path(room, LESSON)
    master = nbformat.read(path, as_version=4)
    cell_of(master, "check_double").metadata.nbgrader.points = 5
    master.cells.append(code("### BEGIN SOLUTION\nextra = 1\n### END SOLUTION", "extra", is_answer=True))
    master.cells.append(code("assert extra == 1", "check_extra", points=1))
    nbformat.write(master, path)
    before = path.read_bytes()
    assert make_classroom(room, ["07", "08"], SOURCES, build_small_master) == [OTHER]
    assert path.read_bytes() == before
    assert "check_extra" in nbformat.writes(release_of(room))
    done = answer(solved(release_of(room)), "extra", "extra = 1")
    hand_in(room, "ada", done)
    row = grade_class(room, ["07"]).rows[0]
    assert (row.points("core"), row.points("further")) == (8, 5)


@pytest.mark.slow
def test_grading_again_gives_the_same_rows_and_keeps_a_manual_grade(room: Path) -> None:
    hand_in(room, "ada", solved(release_of(room)))
    hand_in(room, "bob", "{")
    first = grade_class(room).rows
    secret = classroom_secret(room)
    with Gradebook(f"sqlite:///{room}/gradebook.db") as book:
        book.find_grade("check_triple", LESSON, LESSON, "ada").manual_score = 1.0
        book.db.commit()
    second = grade_class(room).rows
    assert [(row.student, row.status, row.received) for row in first] == [
        (row.student, row.status, row.received) for row in second
    ]
    assert (first[0].points("core"), second[0].points("core")) == (5, 3)
    assert len((room / "marks.csv").read_text().splitlines()) == 3
    assert classroom_secret(room) == secret
    (room / "submitted" / "bob" / LESSON / f"{LESSON}.ipynb").unlink()
    (room / "submitted" / "bob" / LESSON).rmdir()
    assert [row.student for row in grade_class(room, with_feedback=False).rows] == ["ada"]
    assert "bob" not in (room / "marks.csv").read_text()


def test_empty_class_is_reported_and_is_no_failure(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["autograde", str(room)]) == 0
    assert "Nothing to grade" in capsys.readouterr().out


def test_locked_gradebook_says_what_to_do(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradebook, "LOCK_SECONDS", 0.1)
    holder = sqlite3.connect(room / "gradebook.db")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(ClassroomError, match="locked by another program"):
            grade_class(room)
    finally:
        holder.close()


def test_second_grading_at_the_same_time_is_refused(room: Path) -> None:
    with storage.only_run(room), pytest.raises(ClassroomError, match="any other grading run"):
        grade_class(room)


def test_full_disk_says_what_to_do(
    room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(report, "write_text", fail)
    assert main(["autograde", str(room)]) == 2
    assert "The disk is full" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["autograde", "{room}", "99"], "There is no lesson '99'"),
        (["autograde", "{room}/nowhere"], "is no classroom"),
        (["classroom", "{room}/source"], "has files and is no classroom"),
    ],
)
def test_wrong_request_is_rejected(
    room: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format(room=room) for word in words]) == 2
    assert message in capsys.readouterr().err
    assert not (room / "nowhere").exists()


def test_package_without_the_repository_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder.grader, "__file__", str(tmp_path / "grader" / "__init__.py"))
    with pytest.raises(ClassroomError, match="Clone the repository"):
        make_classroom(tmp_path / "room", [])


def test_seed_is_one_of_sixteen_chosen_by_the_secret_the_lesson_the_student_and_the_sources(tmp_path: Path) -> None:
    secret = classroom_secret(tmp_path)
    seeds = {
        lesson: {submission_seed(secret, lesson, f"student {number}", ["x = 1"]) for number in range(400)}
        for lesson in (LESSON, OTHER)
    }
    assert [len(found) for found in seeds.values()] == [SEEDS, SEEDS]
    assert not seeds[LESSON] & seeds[OTHER]
    assert all(len(str(seed)) == 10 and seed < 2**31 for found in seeds.values() for seed in found)
    assert submission_seed(secret, LESSON, "ada", ["x = 1"]) == submission_seed(secret, LESSON, "ada", ["x = 1"])
    assert len({submission_seed(secret, LESSON, "ada", [f"x = {number}"]) for number in range(400)}) == SEEDS
    assert len({submission_seed(bytes([number]), LESSON, "ada", []) for number in range(99)}) == 99
    (tmp_path / "secret").write_text("")
    with pytest.raises(ClassroomError, match="whole secret"):
        classroom_secret(tmp_path)


def test_kernel_cannot_detect_grading_by_nbgraders_names() -> None:
    environment = kernel_environment({"NBGRADER_EXECUTION": "autograde", "PATH": "/bin"}, 7)
    assert not [name for name in environment if name.startswith("NBGRADER")]
    assert (environment["LEAN_TRAINING_SEED"], environment["LEAN_TRAINING_ATTEMPTS"]) == ("7", "off")
