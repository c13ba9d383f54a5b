"""Memory and seconds of each solved lesson, run as a script on the CPU in a process of its own.

There every tensor lives in the process's memory, the lesson's and those of its checks. So its peak, less what the
libraries take, is more than the same tensors would take on a GPU: the lesson fits a device with that much memory,
in addition to CUDA's own context and the allocator's reserve. The ranks of a lesson are processes of their own, on the
CPU; the sum of what they hold is read ten times a second.

Run: python benchmarks/lesson_memory.py [LESSON ...]
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from grader.units import GIB, format_seconds

ROOT = Path(__file__).resolve().parents[1]
IMPORTS = "import torch, transformers, accelerate, datasets, bitsandbytes, matplotlib.pyplot"
POLL_SECONDS = 0.1
T4_GIB = 15.0  # what CUDA shows of the 16 GB


def peak_of(command: list[str], folder: str) -> tuple[int, float]:
    """Run a command in a folder; return the most memory of it and of what it started, in bytes, and its seconds."""
    began = time.perf_counter()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    below = 0
    ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    while not ended:
        below = max(below, _held_below(process.pid))
        time.sleep(POLL_SECONDS)
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}; its message stands above")
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_maxrss * unit + below, time.perf_counter() - began


def _held_below(pid: int) -> int:
    """Return the bytes that all processes below one hold, each page that several share counted once."""
    held = 0
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                memory = process.memory_full_info()
                held += getattr(memory, "pss", memory.uss)
    return held


def main() -> None:
    """Print a line for each lesson, and the largest."""
    wanted = sys.argv[1:]
    lessons = [path for path in sorted((ROOT / "solutions").glob("[0-9]*.py")) if not wanted or path.stem[:2] in wanted]
    with tempfile.TemporaryDirectory() as folder:
        libraries, _ = peak_of([sys.executable, "-c", IMPORTS], folder)
        print(f"{'libraries alone':<28} {libraries / GIB:>6.2f} GiB")
        largest = 0
        for path in lessons:
            peak, seconds = peak_of([sys.executable, str(path)], folder)
            largest = max(largest, peak - libraries)
            print(
                f"{path.stem:<28} {peak / GIB:>6.2f} GiB, {(peak - libraries) / GIB:>5.2f} above the libraries, ",
                end="",
            )
            print(format_seconds(seconds), flush=True)
    print(f"largest above the libraries: {largest / GIB:.2f} GiB, {largest / GIB / T4_GIB:.0%} of a T4")


if __name__ == "__main__":
    main()
