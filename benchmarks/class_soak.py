"""A long class with one kill in the middle: every row once, and nothing that grows or stays.

Run: python benchmarks/class_soak.py [--submissions 1000] [--jobs 2]

Hands in that many different notebooks of a light lesson: solved, wrong, and hostile ones that loop, end their kernel or
print too much. Kills the whole grading in the middle, starts it again, and looks at marks, memory, open descriptors,
processes and temporary folders.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil
from light_lesson import ANSWERS, LESSON, make_light_classroom, with_answers

from grader.units import MIB, format_bytes

ROOT = Path(__file__).resolve().parents[1]
BECOME_SUBREAPER = 36  # prctl(2): what a killed parent leaves behind comes here, and is found
CELL_SECONDS = 3
ALLOWED_GROWTH_BYTES = 20 * MIB
ALLOWED_GROWTH = 0.1
DESCRIPTORS_OF_A_JOB = 8
SOLVED, WRONG, ENDLESS, EXITS, PRINTS = "solved", "wrong", "endless", "exits", "prints"
HOSTILE = {3: ENDLESS, 8: EXITS, 13: PRINTS}  # by the student's number modulo 20
CHANGES = {  # what is put in place of an answer, and the mark that the rest is worth
    SOLVED: ({}, "100.0"),
    WRONG: ({"accumulate": "def accumulate(model, tokens, labels, parts):\n    return None"}, "66.7"),
    ENDLESS: ({"count_parameters": "def count_parameters(model):\n    while True:\n        pass"}, "66.7"),
    EXITS: ({"prepare": "import os\nos._exit(0)"}, "66.7"),
    PRINTS: ({"prepare": ANSWERS["prepare"] + "\nfor _ in range(100):\n    print(100_000 * 'x')"}, "100.0"),
}


@dataclass(frozen=True)
class Sample:
    """What grading held when so many rows stood."""

    rows: int
    head_bytes: int
    server_bytes: int
    descriptors: int


@dataclass(frozen=True)
class Run:
    """One start of the grading: when each row came, and what was held on the way."""

    seconds: list[float]
    samples: list[Sample]


def kind_of(number: int) -> str:
    """Return what the student with this number hands in."""
    return HOSTILE.get(number % 20, WRONG if number % 5 == 4 else SOLVED)


def hand_in(room: Path, count: int) -> None:
    """Make the classroom and the class."""
    make_light_classroom(room)
    release = nbformat.read(room / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
    for number in range(count):
        changes, _ = CHANGES[kind_of(number)]
        notebook = with_answers(release, ANSWERS | changes, f"# handed in by student {number}")
        path = room / "submitted" / f"student{number:05d}" / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)


def grade(room: Path, jobs: int, temporary: Path, at: set[int], *, kill_at: int | None = None) -> Run:
    """Grade the class in a process of its own, and take samples when so many rows stand; or kill it then."""
    command = [sys.executable, "-m", "grader", "autograde", str(room), "-j", str(jobs), "--no-feedback"]
    command += ["--cell-seconds", str(CELL_SECONDS)]
    environment = os.environ | {"TMPDIR": str(temporary), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    seconds: list[float] = []
    samples: list[Sample] = []
    seen: set[str] = set()
    for line in process.stdout:
        found = re.search(r"\b(student\d{5})\b", line)
        if not found or found.group(1) in seen:
            continue
        seen.add(found.group(1))
        seconds.append(time.monotonic())
        if len(seen) in at:
            samples.append(take_sample(process.pid, len(seen)))
        if len(seen) == kill_at:
            os.killpg(process.pid, signal.SIGKILL)
            break
    process.stdout.close()
    process.wait()
    require(kill_at is not None or process.returncode == 0, f"grading ended with status {process.returncode}")
    return Run(seconds, samples)


def take_sample(pid: int, rows: int) -> Sample:
    """Look at the head of the grading and at its fork servers."""
    head = psutil.Process(pid)
    servers = [child for child in head.children() if "grader.classroom.running.fork_server" in child.cmdline()]
    server_bytes = sum(server.memory_info().rss for server in servers)
    descriptors = head.num_fds() + sum(server.num_fds() for server in servers)
    return Sample(rows, head.memory_info().rss, server_bytes, descriptors)


def require(holds: bool, what: str) -> None:
    """Stop unless it holds."""
    if not holds:
        raise SystemExit(f"soak failed: {what}")


def require_rows(room: Path, count: int) -> None:
    """Stop unless each student has one row with the mark that the answers are worth."""
    with (room / "marks.csv").open() as file:
        rows = list(csv.DictReader(file))
    times = Counter(row["student"] for row in rows)
    expected = {f"student{number:05d}": CHANGES[kind_of(number)][1] for number in range(count)}
    require(times == Counter(expected.keys()), f"{len(rows)} rows for {count} students")
    wrong = [
        f"{row['student']} {row['mark_percent']}" for row in rows if row["mark_percent"] != expected[row["student"]]
    ]
    require(not wrong, f"marks differ: {wrong[:10]}")
    print(f"{count} rows, each once, with the right marks: {dict(Counter(map(kind_of, range(count))))}")


def require_flat(samples: list[Sample], jobs: int) -> None:
    """Print the samples; stop if memory or descriptors have grown between them."""
    print(f"\n{'rows':>6}{'head':>12}{'servers':>12}{'descriptors':>13}")
    for sample in samples:
        sizes = f"{format_bytes(sample.head_bytes):>12}{format_bytes(sample.server_bytes):>12}"
        print(f"{sample.rows:>6}{sizes}{sample.descriptors:>13}")
    first = samples[0]
    for name in ("head_bytes", "server_bytes"):
        most = max(getattr(sample, name) for sample in samples)
        allowed = (1 + ALLOWED_GROWTH) * getattr(first, name) + ALLOWED_GROWTH_BYTES
        require(most <= allowed, f"{name} grew from {format_bytes(getattr(first, name))} to {format_bytes(most)}")
    grown = max(sample.descriptors for sample in samples) - first.descriptors
    require(grown <= DESCRIPTORS_OF_A_JOB * jobs, f"{grown} more open descriptors than at first")


@contextlib.contextmanager
def nothing_left(temporary: Path) -> Iterator[None]:
    """Stop if a process that was started inside is still there, or a folder that was made inside."""
    before = set(temporary.iterdir())
    yield
    end = time.monotonic() + 10
    while (left := _processes_left()) and time.monotonic() < end:
        time.sleep(0.1)
    require(not left, f"processes left: {left}")
    folders = sorted(path.name for path in set(temporary.iterdir()) - before)
    require(not folders, f"temporary folders left: {folders}")


def _processes_left() -> list[str]:
    """Reap what has ended, and name the rest; this process has adopted what lost its parent."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(" ".join(child.cmdline())[:100] or child.name())
    return found


def soak(folder: Path, count: int, jobs: int) -> None:
    """Grade the class, kill it, grade it again, and look at what is left."""
    room, temporary = folder / "room", folder / "temporary"
    temporary.mkdir()
    hand_in(room, count)
    tenth, middle = max(2, count // 10), count // 2
    first = grade(room, jobs, temporary, {tenth, middle}, kill_at=middle)
    time.sleep(1)  # the servers see that their client is gone
    of_killed = len(list(temporary.iterdir()))
    began = time.monotonic()
    with nothing_left(temporary):
        second = grade(room, jobs, temporary, {count})
    print(f"killed after {middle} rows, went on, {time.monotonic() - began:.0f} s for the rest or for all again")
    require_rows(room, count)
    require_flat(first.samples + second.samples, jobs)
    begin = (first.seconds[tenth - 1] - first.seconds[0]) / (tenth - 1)
    end = (second.seconds[-1] - second.seconds[-tenth]) / (tenth - 1)
    print(f"\nseconds for each submission: {begin:.2f} in the first tenth, {end:.2f} in the last")
    still = len(list(temporary.iterdir()))
    print(f"left behind: no process, no folder (of the killed run: {of_killed} before the second, {still} after it)")


def main() -> None:
    """Run the soak in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    args = parser.parse_args()
    require(args.submissions >= 10, "at least 10 submissions are needed")
    ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="lean-training-soak-") as folder:
        soak(Path(folder), args.submissions, args.jobs)
    print("soak passed")


if __name__ == "__main__":
    main()
