"""Runs are kept under all that they depend on, and a damaged file of a run is not used."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from small_class import NewRoom, copied, release_of
from small_course import LESSON, answer, hand_in, solved

from grader.__main__ import main
from grader.classroom.base.errors import ClassroomError
from grader.classroom.commands.grading import Grading, grade_class
from grader.classroom.jobs import pool as runs
from grader.classroom.jobs import results as results_module
from grader.classroom.jobs.job import Job
from grader.classroom.jobs.pool import Runner
from grader.classroom.jobs.results import FOLDER, Results
from grader.classroom.jobs.surroundings import grader_digest
from grader.classroom.running.execution import CellRun, Execution, Limits
from grader.classroom.running.worker_process import CannotRun

JOB = Job("{}", "07", 1, support={"table.csv": b"1"})
RUN = Execution({1: CellRun(1, "ok", 0.5, [{"output_type": "stream", "name": "stdout", "text": "8\n"}])})
SQUARED = "def double(number):\n    return number * number"


def kept_files(room: Path) -> list[Path]:
    return sorted((room / FOLDER).glob("*.json"))


@pytest.mark.parametrize(
    "other",
    [
        replace(JOB, notebook="{ }"),
        replace(JOB, lesson="08"),
        replace(JOB, seed=2),
        replace(JOB, limits=Limits(1, 2)),
        replace(JOB, support={"table.csv": b"2"}),
        replace(JOB, support={"other.csv": b"1"}),
        replace(JOB, kernel="other"),
        replace(JOB, sandbox="none"),
    ],
)
def test_a_job_that_differs_in_anything_has_another_key(tmp_path: Path, other: Job) -> None:
    results = Results(tmp_path, "cpu")
    assert results.key(other) != results.key(JOB) == Results(tmp_path, "cpu").key(replace(JOB))


def test_another_device_grader_or_library_is_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {Results(tmp_path, "cpu").key(JOB), Results(tmp_path, "cuda NVIDIA T4").key(JOB)}
    monkeypatch.setattr(results_module, "grader_digest", lambda: "another")
    keys.add(Results(tmp_path, "cpu").key(JOB))
    monkeypatch.setattr(results_module, "versions", lambda: {"torch": "99"})
    keys.add(Results(tmp_path, "cpu").key(JOB))
    assert len(keys) == 4


def test_a_classroom_that_was_moved_keeps_its_runs(tmp_path: Path) -> None:
    results = Results(tmp_path, "cpu")
    assert results.key(replace(JOB, hidden=("/old",))) == results.key(replace(JOB, hidden=("/new",)))


def test_grader_digest_follows_what_judges_and_not_what_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest_of(**texts: str) -> str:
        for name, text in texts.items():
            (tmp_path / "grader" / "classroom" / name / "code.py").write_text(text)
        return grader_digest.__wrapped__()

    for name in ("scoring", "pages"):
        (tmp_path / "grader" / "classroom" / name).mkdir(parents=True)
    monkeypatch.setattr("grader.__file__", str(tmp_path / "grader" / "__init__.py"))
    first = digest_of(scoring="1", pages="1")
    assert digest_of(pages="2") == first
    second = digest_of(scoring="2")
    assert second != first
    (tmp_path / "grader" / "questions.toml").write_text("[[idea]]")  # what a judge reads of a question counts, too
    assert digest_of() != second


def test_kept_run_is_read_back_also_by_the_next_grading(tmp_path: Path) -> None:
    results = Results(tmp_path, "cpu")
    key = results.key(JOB)
    assert results.read("07", key) is None
    results.write(key, RUN)
    later = Results(tmp_path, "cpu")
    assert results.read("07", key) == later.read("07", key) == RUN
    assert (results.is_from_before(key), later.is_from_before(key)) == (False, True)


def test_again_passes_over_earlier_runs_but_not_over_its_own(tmp_path: Path) -> None:
    key = Results(tmp_path, "cpu").key(JOB)
    Results(tmp_path, "cpu").write(key, RUN)
    again = Results(tmp_path, "cpu", is_again=True)
    assert again.read("07", key) is None
    again.write(key, RUN)
    assert again.read("07", key) == RUN


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: 100_000 * "[",
        lambda text: "\x00" * len(text),
        lambda text: text.replace("8\\n", "9\\n"),
        lambda text: text.replace('"format": 1', '"format": 7', 1),
        lambda text: text.replace('"digest"', '"digests"'),
    ],
)
def test_damaged_file_is_ignored_and_replaced(tmp_path: Path, damage) -> None:
    results = Results(tmp_path, "cpu")
    key = results.key(JOB)
    results.write(key, RUN)
    path = kept_files(tmp_path)[0]
    path.write_text(damage(path.read_text()))
    assert results.read("07", key) is None
    results.write(key, RUN)
    assert results.read("07", key) == RUN


def test_run_that_the_machine_ended_is_not_kept(tmp_path: Path) -> None:
    results = Results(tmp_path, "cpu")
    results.write(results.key(JOB), replace(RUN, is_final=False))
    assert kept_files(tmp_path) == []


def test_runs_of_the_last_two_gradings_stay(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        results = Results(tmp_path, "cpu")
        key = results.key(replace(JOB, seed=seed))
        results.read("07", key)
        results.write(key, RUN)
        results.prune(["07", "08"])
    Results(tmp_path, "cpu").prune(["07", "08"])  # of no submission at all
    assert [results.read("07", results.key(replace(JOB, seed=seed))) for seed in (1, 2, 3)] == [None, RUN, RUN]
    (tmp_path / ".grading" / "gradings.json").write_text("{")
    Results(tmp_path, "cpu").prune(["07"])
    assert kept_files(tmp_path) == []


class Recorder:
    """Runs jobs without a kernel, and remembers them."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def __call__(self, job: Job) -> Execution:
        self.jobs.append(job)
        cells = json.loads(job.notebook)["cells"]
        passed = [{"output_type": "stream", "name": "stdout", "text": "passed: 8"}]
        squared = [{"output_type": "error", "ename": "CheckFailed", "evalue": "[squared] 16", "traceback": []}]
        is_wrong = any("number * number" in "".join(cell["source"]) for cell in cells)
        runs = [CellRun(index, "ok", 0.1, []) for index, cell in enumerate(cells) if cell["cell_type"] == "code"]
        runs[2] = CellRun(runs[2].index, "error" if is_wrong else "ok", 0.1, squared if is_wrong else passed)
        return Execution({run.index: run for run in runs})


def grade(room: Path, recorder: Recorder, **options: object) -> Grading:
    return grade_class(room, runner=Runner(recorder, 2, "cpu"), with_feedback=False, **options)


@pytest.fixture
def room(new_room: NewRoom) -> Path:
    room = new_room()
    done = solved(release_of(room))
    hand_in(room, "ada", done)
    hand_in(room, "bob", answer(done, "double", SQUARED))
    hand_in(room, "cleo", answer(done, "guess", "def guess():\n    return 4.0  # cleo"))
    hand_in(room, "dan", "{")
    return room


def test_grading_again_runs_only_what_changed_and_says_so(room: Path) -> None:
    first, second = Recorder(), Recorder()
    assert grade(room, first).kept_line == ""
    marks = (room / "marks.csv").read_bytes()
    hand_in(room, "cleo", answer(solved(release_of(room)), "guess", "def guess():\n    return 4.0  # cleo again"))
    grading = grade(room, second)
    assert (len(first.jobs), len(second.jobs)) == (3, 1)
    assert (room / "marks.csv").read_bytes() == marks
    reused = {row["student"]: row["reused"] for row in json.loads((room / "grading.json").read_text())["submissions"]}
    assert reused == {"ada": True, "bob": True, "cleo": False, "dan": False}
    assert grading.kept_line == "2 of 3 runs were kept from before"
    assert grading.changes == []


def test_equal_submissions_share_one_run(room: Path) -> None:
    for student in ("eve", "fay", "gus"):
        hand_in(room, student, solved(release_of(room)))
    hand_in(room, "hal", copied(release_of(room)))  # noted by us, and equal once it is rebuilt
    recorder = Recorder()
    rows = grade(room, recorder).rows
    assert (len(rows), len(recorder.jobs)) == (8, 3)
    assert not any(row.reused for row in rows)


def test_again_runs_all_and_reports_what_a_new_grader_changed(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    grade(room, recorder)
    path = room / "grading.json"
    path.write_text(path.read_text().replace('"points": 2.0', '"points": 1.0', 1))  # as an older grader gave them
    grading = grade(room, recorder, is_again=True)
    assert len(recorder.jobs) == 6
    assert grading.changes == [f"ada {LESSON}: 80.0 % -> 100.0 %", "    check_double: 1/2 (pass) -> 2/2 (pass)"]


def test_upgraded_grader_runs_all_and_reports_its_changes(
    room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(runs, "here", lambda jobs: Runner(recorder, jobs, "cpu"))
    assert main(["autograde", str(room), "--no-feedback"]) == 0
    assert "Changed" not in capsys.readouterr().out
    path = room / "grading.json"
    path.write_text(path.read_text().replace('"points": 2.0', '"points": 1.0', 1))
    monkeypatch.setattr(results_module, "grader_digest", lambda: "upgraded")
    assert main(["autograde", str(room), "--no-feedback"]) == 0
    printed = capsys.readouterr().out
    assert "Changed since the last grading, of the same submissions:\nada" in printed
    assert "    changed: check_double: 1/2 (pass) -> 2/2 (pass)" in printed
    assert "[ 4/4 ]" in printed
    assert len(recorder.jobs) == 6
    assert main(["autograde", str(room), "--no-feedback"]) == 0
    assert "3 of 3 runs were kept from before" in capsys.readouterr().out


def test_machine_that_cannot_run_stops_the_class_and_keeps_what_is_done(room: Path) -> None:
    recorder = Recorder()

    def run(job: Job) -> Execution:
        if "number * number" in job.notebook:
            raise CannotRun("no kernel")
        return recorder(job)

    with pytest.raises(ClassroomError, match="No kernel could be started for bob"):
        grade_class(room, runner=Runner(run, 1, "cpu"), with_feedback=False)
    ready = len(recorder.jobs)
    assert len(grade(room, recorder).rows) == 4
    assert len(recorder.jobs) == 3 > ready > 0


def test_gradebook_locked_in_the_middle_stops_the_class_and_the_next_grading_completes(room: Path) -> None:
    holder = sqlite3.connect(room / "gradebook.db")
    recorder = Recorder()
    with pytest.raises(ClassroomError, match="locked by another program"):
        grade(room, recorder, say=lambda row, progress, changes: holder.execute("BEGIN EXCLUSIVE"))
    holder.close()
    assert [row.student for row in grade(room, recorder).rows] == ["ada", "bob", "cleo", "dan"]
    assert len(recorder.jobs) == 3
