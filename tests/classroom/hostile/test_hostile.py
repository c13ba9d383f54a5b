"""A class of hostile, faulty and honest submissions, graded at every level of the sandbox that this machine allows."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from hostile_case import CASES, Case, Room
from hostile_lesson import LESSON, POINTS, SECRETS, make_hostile_room
from hostile_processes import DAEMON_SECONDS
from nbgrader.api import Gradebook

from grader.classroom.base.row import UNREADABLE, Row, read_rows
from grader.classroom.jobs.seeds import SEEDS, submission_seed
from grader.classroom.running import sandbox_choice as choice
from grader.classroom.running.fork_client import kernel_server
from grader.classroom.sandbox.confinement import BUBBLEWRAP, LADDER, LANDLOCK, NAMESPACES, WITH_LOOPBACK

for name in ("hostile_tampering", "hostile_files", "hostile_unreadable", "hostile_answers"):  # each registers its cases
    importlib.import_module(name)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform != "linux", reason="the sandboxes need Linux"),
]
LIMITS = "\nc.RunCells.memory_mib = 2048\nc.RunCells.scratch_mib = 64\nc.RunCells.processes = 128\n"
LIMITS += "c.RunCells.is_forked = True\n"
LARGEST_PAGE_BYTES = 3 * 10**6
FOLDERS: list[Path] = []  # to be removed at the end
SECONDS = {level: ("4", "20") for level in LADDER} | {BUBBLEWRAP: ("12", "60")}  # of a cell, and of all; cold kernels


@dataclass(frozen=True)
class Graded:
    """The class after its grading.

    Attributes:
        level: The level of the sandbox.
        room: The classroom.
        rows: By student.
        code: The grading's exit code.
        said: What it printed.
        left_processes: Command lines of processes that it left.
        left_files: What it left in the folder of temporary files.
        is_source_unchanged: Whether `source`, `submitted` and the settings are as before.
    """

    level: str
    room: Path
    rows: dict[str, Row]
    code: int
    said: str
    left_processes: list[str]
    left_files: list[str]
    is_source_unchanged: bool


@pytest.mark.turns(2)  # so that the two levels that need nothing installed have different days
@pytest.mark.parametrize("level", (NAMESPACES, LANDLOCK, BUBBLEWRAP))
def test_a_hostile_class_has_its_right_outcome_and_harms_nothing(level: str) -> None:
    """One test for each level, since a class is graded as a whole."""
    reason = choice.why_not(level, kernel_server().path)
    if reason:
        pytest.skip(f"{level}: {reason}")
    graded, wrong = grade(level), {}
    for found in CASES.values():
        try:
            has_its_right_outcome(graded, found)
        except AssertionError as error:
            wrong[found.name] = str(error)
    assert wrong == {}
    for holds in HOLDS:
        holds(graded)


def grade(level: str) -> Graded:
    """Hand in every case and grade the class by the command that an instructor uses."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    FOLDERS.append(folder)
    temporary = folder / "t"  # a socket's path is short
    temporary.mkdir(mode=0o777)
    room = make_hostile_room(folder / "room")
    with (room / "nbgrader_config.py").open("a") as file:
        file.write(LIMITS)
    fill(room)
    before = contents(room)
    mark = uuid.uuid4().hex
    environment = {**os.environ, "TMPDIR": str(temporary), "LEAN_TRAINING_MARK": mark}
    cell_seconds, notebook_seconds = SECONDS[level]
    limits = ["--cell-seconds", cell_seconds, "--notebook-seconds", notebook_seconds, "--jobs", "2"]
    command = [sys.executable, "-m", "grader", "autograde", str(room), "--sandbox", level, *limits]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=800)
    rows = {row.student: row for row in read_rows(room)}
    left = list(left_processes(mark))
    files = sorted(path.name for path in temporary.iterdir())
    return Graded(level, room, rows, done.returncode, done.stdout + done.stderr, left, files, contents(room) == before)


@pytest.fixture(scope="module", autouse=True)
def removed_afterwards() -> Iterator[None]:
    yield
    for folder in FOLDERS:
        shutil.rmtree(folder, ignore_errors=True)


def fill(room: Path) -> None:
    """Hand in every case; the student's name says which."""
    release = nbformat.read(room / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
    for found in CASES.values():
        place = Room(room, release, found.name)
        notebook = found.submit(place)
        if notebook is not None:
            place.hand_in(notebook)


def contents(room: Path) -> dict[str, str]:
    """Return what an instructor and the students keep in a classroom: names, and digests of small files."""
    paths = [
        room / "nbgrader_config.py",
        *sorted((room / "source").rglob("*")),
        *sorted((room / "submitted").rglob("*")),
    ]
    return {str(path): digest(path) for path in paths}


def digest(path: Path) -> str:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > 10**8:
        return "no plain file"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def left_processes(mark: str) -> Iterator[str]:
    """Yield the command lines of the processes that a grading has left, some of which end a moment after it."""
    found: list[str] = []
    for _ in range(50):
        found = [*marked_processes(mark)]
        if not found:
            return
        time.sleep(0.1)
    yield from found


def marked_processes(mark: str) -> Iterator[str]:
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if mark.encode() in (place / "environ").read_bytes() or f"sleep {DAEMON_SECONDS}" in command:
                yield command


def expected_points(found: Case, level: str) -> list[float | None]:
    points: list[float | None] = [*found.at.get(level, found.points)]
    if level not in WITH_LOOPBACK and found.status != UNREADABLE:
        points[3] = None
    return points


def has_its_right_outcome(graded: Graded, found: Case) -> None:
    row = graded.rows[found.name]
    graded_as = [(check.points, check.verdict, check.reason) for check in row.checks]
    assert [check.points for check in row.checks] == expected_points(found, graded.level), (graded_as, row.reason)
    assert row.status == found.status, (graded_as, row.reason)
    for number, verdict in found.verdicts.items():
        if row.checks[number - 1].verdict != "not_gradable":
            assert row.checks[number - 1].verdict == verdict, (graded_as, row.reason)
    said = "\n".join([row.reason, *(check.reason for check in row.checks)])
    assert found.reason in said
    assert not found.silent or row.reason.replace("check_connect: please look at it", "") == ""
    assert row.sandbox == ("" if found.status == UNREADABLE else graded.level)


def the_class_is_graded_to_its_end(graded: Graded) -> None:
    assert graded.code == 0, graded.said[-2000:]
    assert set(graded.rows) == set(CASES)
    with (graded.room / "marks.csv").open() as file:
        assert sorted(line["student"] for line in csv.DictReader(file)) == sorted(CASES)


def nothing_is_left(graded: Graded) -> None:
    assert graded.left_processes == []
    assert graded.left_files == []
    assert not Path("/tmp/hostile-pickle-ran").exists()
    assert not list(graded.room.parent.rglob("escaped.ipynb"))


def what_the_class_keeps_is_as_it_was(graded: Graded) -> None:
    assert graded.is_source_unchanged
    assert (graded.room / "secret").stat().st_mode & 0o777 == 0o600


def the_gradebook_holds_these_points_and_no_others(graded: Graded) -> None:
    with Gradebook(f"sqlite:///{graded.room}/gradebook.db") as gradebook:
        for student, row in graded.rows.items():
            (notebook,) = gradebook.find_submission(LESSON, student).notebooks
            kept = {grade.name: grade for grade in notebook.grades}
            assert set(kept) == set(POINTS)
            for check in row.checks:
                grade_of = kept[check.check]
                assert grade_of.auto_score == (check.points or 0.0), (student, check)
                assert (grade_of.manual_score, grade_of.extra_credit) == (None, None), student
                assert grade_of.needs_manual_grade or check.verdict != "not_gradable"


def the_time_of_a_submission_is_the_classrooms_own(graded: Graded) -> None:
    with Gradebook(f"sqlite:///{graded.room}/gradebook.db") as gradebook:
        assert gradebook.find_submission(LESSON, "an_early_time_is_handed_in").timestamp.year > 2001


def no_student_reads_what_is_hidden(graded: Graded) -> None:
    secret = (graded.room / "secret").read_text().strip()
    seeds = {submission_seed(secret.encode(), LESSON, "", [str(number)]) for number in range(40 * SEEDS)}
    assert len(seeds) == SEEDS
    secrets = [*SECRETS, secret, *map(str, seeds)]
    for path in [graded.room / "marks.csv", *(graded.room / "feedback").rglob("*.html")]:
        text = path.read_text()
        assert not [secret for secret in secrets if secret in text], path
        assert "<script>alert" not in text


def every_page_is_small(graded: Graded) -> None:
    sizes = {path: path.stat().st_size for path in (graded.room / "feedback").rglob("*.html")}
    assert len(sizes) > len(graded.rows) // 2  # a failed row may have none
    assert {name: size for name, size in sizes.items() if size > LARGEST_PAGE_BYTES} == {}


def where_no_loopback_is_the_mark_waits_for_a_person(graded: Graded) -> None:
    row = graded.rows["an_honest_notebook"]
    is_waiting = graded.level not in WITH_LOOPBACK
    assert row.maximum("further") == (0 if is_waiting else 1)
    assert ("check_connect: please look at it" in row.reason) == is_waiting


HOLDS = (
    the_class_is_graded_to_its_end,
    nothing_is_left,
    what_the_class_keeps_is_as_it_was,
    the_gradebook_holds_these_points_and_no_others,
    the_time_of_a_submission_is_the_classrooms_own,
    no_student_reads_what_is_hidden,
    every_page_is_small,
    where_no_loopback_is_the_mark_waits_for_a_person,
)


def test_an_orphan_that_holds_a_gpu_ends_with_its_sandbox() -> None:
    pytest.skip("51: needs a CUDA device; that orphans end is asserted for every level above")
