"""Run the lessons' checks on a pretended CUDA device: `make pretend-cuda`, or with `ALL=1` each check in each setting.

Every check runs with its solution on a T4. The other settings are spread over the lessons, one for each, and there each
exercise also runs untouched and with one wrong answer of its bank. With `DAILY=1`, as in CI, a third of the lessons,
another one each day, runs in its other setting.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
T4 = "T4"
SETTINGS: dict[str, dict[str, str]] = {
    T4: {},
    "A100": {"PRETEND_CAPABILITY": "8.0"},
    "two devices": {"PRETEND_DEVICES": "2"},
    "noise 1e-6": {"PRETEND_NOISE": "1e-6"},
    "tf32 on": {"PRETEND_CAPABILITY": "8.0", "PRETEND_TF32": "1"},
}
DAYS = 3  # in which DAILY=1 runs each lesson in its other setting
SECONDS_PER_LESSON = 600  # a loaded machine is slow, and a stuck one must end


def build() -> Path:
    """Compile the device against the torch that is installed; a library of the same source is kept."""
    torch = Path(str(importlib.util.find_spec("torch").origin)).parent  # type: ignore[union-attr]
    source = HERE / "pretend.cpp"
    version = (torch / "version.py").read_bytes()
    library = ROOT / "build" / f"pretend-{hashlib.sha256(source.read_bytes() + version).hexdigest()[:12]}.so"
    if library.exists():
        return library
    library.parent.mkdir(exist_ok=True)
    unfinished = library.with_suffix(f".{os.getpid()}")
    folders = [torch / "include", torch / "include/torch/csrc/api/include", Path(sysconfig.get_path("include"))]
    compiler = ["g++", "-O1", "-std=c++20", "-shared", "-fPIC", "-w", *(f"-I{folder}" for folder in folders)]
    linked = [f"-L{torch / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{torch / 'lib'}"]
    subprocess.run([*compiler, str(source), "-o", str(unfinished), *linked], check=True)
    unfinished.rename(library)
    return library


def run_lesson(lesson: Path, setting: str, library: Path) -> list[dict[str, Any]]:
    """Run one lesson in one setting; a process that dies is one more failure."""
    device = {"PRETEND_LIBRARY": str(library), "CUDA_MODULE_LOADING": "LAZY", "LEAN_TRAINING_ATTEMPTS": "off"}
    quiet = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "MPLBACKEND": "Agg"}
    outside = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    answers = {} if setting == T4 else {"ANSWERS": "wrong"}
    command = [sys.executable, str(HERE / "run_lesson.py"), str(lesson), "0"]
    try:
        done = subprocess.run(
            command,
            env=outside | device | quiet | SETTINGS[setting] | answers,
            capture_output=True,
            text=True,
            timeout=SECONDS_PER_LESSON,
        )
        printed, ended = done.stdout, f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
        is_whole = done.returncode == 0
    except subprocess.TimeoutExpired as late:
        printed, ended, is_whole = (late.stdout or b"").decode(), f"not done in {SECONDS_PER_LESSON} s", False
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith('{"check"')]
    if not is_whole or not lines:
        lines.append({"check": "the lesson's process", "seed": 0, "said": ended, "seconds": 0.0})
    return [line | {"lesson": lesson.stem, "setting": setting} for line in lines]


def plan(lessons: list[Path], is_full: bool, day: int | None) -> list[tuple[Path, str]]:
    """Return which lesson runs in which setting: all on the T4, and the other settings in turns."""
    others = [setting for setting in SETTINGS if setting != T4]
    if is_full:
        return [(lesson, setting) for setting in SETTINGS for lesson in lessons]
    turns = [
        (lesson, others[number % len(others)])
        for number, lesson in enumerate(lessons)
        if day is None or number % DAYS == day % DAYS
    ]
    return [(lesson, T4) for lesson in lessons] + turns


def report(lines: list[dict[str, Any]]) -> bool:
    """Print what failed, by lesson and check; return whether nothing did."""
    failed = [line for line in lines if not line["said"].startswith("passed")]
    for line in failed:
        print(f"FAILED  {line['lesson']}  {line['check']}  on {line['setting']}: {line['said']}")
    return not failed


def main() -> int:
    if shutil.which("g++") is None:
        print("pretend-cuda skipped: it compiles the pretended device, and there is no g++ here")
        return 0
    started = time.perf_counter()
    library = build()
    wanted = tuple(os.environ.get("LESSONS", "").split()) or ("",)
    lessons = [path for path in sorted((ROOT / "solutions").glob("[0-9]*.py")) if path.name.startswith(wanted)]
    is_full, is_daily = (os.environ.get(name, "") not in ("", "0") for name in ("ALL", "DAILY"))
    jobs = plan(lessons, is_full, date.today().toordinal() if is_daily else None)
    with ThreadPoolExecutor(2) as pool:
        lines = [line for found in pool.map(lambda job: run_lesson(*job, library), jobs) for line in found]
    is_green = report(lines)
    seconds = time.perf_counter() - started
    print(f"{len(lines)} runs of checks, {len(lessons)} lessons, {seconds:.0f} s")
    return 0 if is_green else 1


if __name__ == "__main__":
    sys.exit(main())
