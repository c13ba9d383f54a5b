"""A grading that is killed, or runs out of disk, is completed by the next one, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_class import NewRoom, fill_with_six
from small_course import hand_in

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.storage import LOCK, PREFIX, remove_stale_folders, remove_stale_parts
from grader.classroom.commands.grading import grade_class
from grader.classroom.jobs.results import FOLDER

pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).resolve().parents[3]


def start(room: Path, scratch: Path) -> subprocess.Popen[bytes]:
    """Start a grading whose temporary files are in `scratch`."""
    return subprocess.Popen(
        [sys.executable, "-m", "grader", "autograde", str(room), "-j", "2", "--cell-seconds", "10"],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def grade(room: Path, scratch: Path) -> tuple[int, str]:
    process = start(room, scratch)
    printed, _ = process.communicate(timeout=120)
    return process.returncode, printed.decode()


def processes_of(scratch: Path) -> set[int]:
    """Return the processes that were started with this folder for temporary files."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(scratch).encode() in (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
    return found


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def room(new_room: NewRoom) -> Path:
    room = new_room()
    fill_with_six(room, seconds=0.5)
    with (room / "nbgrader_config.py").open("a") as settings:
        settings.write("c.RunCells.is_forked = False  # the lesson imports nothing\n")
    return room


@pytest.fixture(scope="module")
def marks(room: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What an uninterrupted grading gives."""
    whole = Path(shutil.copytree(room, tmp_path_factory.mktemp("whole") / "room"))
    with short_folder() as scratch:
        code, printed = grade(whole, scratch)
    assert code == 0, printed
    return (whole / "marks.csv").read_bytes()


@contextlib.contextmanager
def short_folder() -> Iterator[Path]:
    """Make a folder for temporary files; the name of a socket in it must not be longer than 107 characters."""
    with tempfile.TemporaryDirectory(prefix="lt-") as folder:
        yield Path(folder)


@pytest.fixture
def scratch() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


FORKED = "while forked notebooks run"
MOMENTS = {
    "while the first notebooks run": lambda room, scratch: any(scratch.glob(f"{PREFIX}*/run-*")),
    FORKED: lambda room, scratch: any(scratch.glob(f"{PREFIX}*/run-*")),
    "when a run is kept": lambda room, scratch: any((room / FOLDER).glob("*.json")),
    "while the gradebook is written": lambda room, scratch: len(list((room / "autograded").glob("*/*/*.ipynb"))) > 2,
}


@pytest.mark.turns(2)
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_grading_is_completed_by_the_next_one(
    room: Path, marks: bytes, moment: str, tmp_path: Path, scratch: Path
) -> None:
    classroom = Path(shutil.copytree(room, tmp_path / "room"))
    if moment == FORKED:
        settings = classroom / "nbgrader_config.py"
        settings.write_text(settings.read_text().replace("is_forked = False", "is_forked = True"))
    process = start(classroom, scratch)
    wait_for(lambda: process.poll() is not None or MOMENTS[moment](classroom, scratch))
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = len(list((classroom / FOLDER).glob("*.json")))
    wait_for(lambda: not processes_of(scratch))
    code, printed = grade(classroom, scratch)
    assert code == 0, printed
    assert (classroom / "marks.csv").read_bytes() == marks
    assert not kept or f"{kept} of 5 runs were kept from before" in printed
    assert not list(scratch.glob(f"*{PREFIX}*"))
    assert processes_of(scratch) == set()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], capture_output=True)
    if made.returncode:
        pytest.skip(f"no small disk can be mounted here: {made.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path, *, left_bytes: int = 0) -> Path:
    """Fill a disk, and return the file to delete."""
    ballast = disk / "ballast"
    ballast.write_bytes(b"\0" * max(0, shutil.disk_usage(disk).free - left_bytes - 4096))
    with contextlib.suppress(OSError), (disk / "rest").open("wb", buffering=0) as file:
        while left_bytes == 0 and file.write(b"\0" * 512):
            pass
    return ballast


def test_full_disk_stops_with_a_remedy_and_the_next_grading_completes(
    room: Path, marks: bytes, small_disk: Path, scratch: Path
) -> None:
    classroom = Path(shutil.copytree(room, small_disk / "room"))
    ballast = fill(small_disk, left_bytes=60_000)
    code, printed = grade(classroom, scratch)
    assert code == 2, printed
    assert "The disk is full" in printed and "Free some space, then grade again." in printed
    assert "Traceback" not in printed
    assert not list(classroom.rglob("*.part"))
    ballast.unlink()
    code, printed = grade(classroom, scratch)
    assert code == 0, printed
    assert (classroom / "marks.csv").read_bytes() == marks


def test_a_disk_that_is_full_when_feedback_is_written_is_reported(new_room: NewRoom, small_disk: Path) -> None:
    classroom = Path(shutil.copytree(new_room(), small_disk / "room"))
    hand_in(classroom, "fay", "{")
    with pytest.raises(ClassroomError, match="The disk is full"):
        grade_class(classroom, say=lambda row, progress, changes: fill(small_disk))
    (small_disk / "ballast").unlink()
    [row] = grade_class(classroom).rows
    assert (classroom / row.feedback).is_file()


def test_folder_of_a_running_process_stays_and_that_of_a_killed_one_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "from grader.classroom.base.storage import scratch_folder; print(scratch_folder(), flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    folder = Path(process.stdout.readline().decode().strip())
    not_ours = tmp_path / f"{PREFIX}clone"
    not_ours.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    remove_stale_folders()
    assert (folder / LOCK).exists()
    process.kill()
    process.communicate()
    unlocked = tmp_path / f".{PREFIX}abc"  # of a process that was killed before it could lock it
    unlocked.mkdir()
    remove_stale_folders()
    assert unlocked.exists()
    os.utime(unlocked, (0, 0))
    remove_stale_folders()
    assert not unlocked.exists()
    assert not folder.exists()
    assert not_ours.exists()


def test_half_of_a_file_goes_when_it_is_old(tmp_path: Path) -> None:
    (tmp_path / ".grading" / "results").mkdir(parents=True)
    halves = [tmp_path / ".marks.csv.abc.part", tmp_path / ".grading" / "results" / ".key.json.abc.part"]
    for path in halves:
        path.write_text("ha")
    remove_stale_parts(tmp_path)
    assert all(path.exists() for path in halves)
    for path in halves:
        os.utime(path, (0, 0))
    remove_stale_parts(tmp_path)
    assert not any(path.exists() for path in halves)
