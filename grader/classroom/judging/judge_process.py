"""Run judges as processes: start them on demand, keep them for the class, kill those that take too long."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.classroom.sandbox.visible import require_judges

VERDICT_SECONDS = 60
START_SECONDS = 120  # a cold import of everything from a slow disk
LARGEST_ANSWER = 2**20  # characters
_lock = threading.Lock()


class JudgeStopped(Exception):
    """A judge ended, or took too long, over one observation."""


class Judge:
    """A running judge; it keeps its references, so that the class computes each of them once."""

    def __init__(self) -> None:
        require_judges()
        self._complaints = tempfile.TemporaryFile()
        package = str(Path(__file__).resolve().parents[3])
        paths = os.pathsep.join(path for path in (package, os.environ.get("PYTHONPATH", "")) if path)
        settings = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "grader.judging"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, **settings},
            text=True,
            start_new_session=True,
        )
        self._seconds = START_SECONDS + VERDICT_SECONDS

    def ask(self, check: str, seed: int, observation: str) -> dict[str, Any]:
        """Return the judge's answer to one observation.

        Raises:
            JudgeStopped: if it gives none in time.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        request = json.dumps({"check": check, "seed": seed, "observation": observation})
        timer = threading.Timer(self._seconds, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline(LARGEST_ANSWER)
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line.endswith("\n"):
            raise JudgeStopped(self._last_words())
        self._seconds = VERDICT_SECONDS
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self._process.kill()
        self._process.wait()
        self._complaints.seek(0)
        return self._complaints.read().decode("utf-8", "replace").strip().rpartition("\n")[2]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._complaints):
            with contextlib.suppress(OSError):  # what was not sent is lost with it
                pipe.close()  # type: ignore[union-attr]  # both are pipes
        self._process.wait()


_idle: list[Judge] = []


@contextlib.contextmanager
def borrowed_judge() -> Iterator[Judge]:
    """Lend a judge that nobody else asks; there are as many as jobs that run at once."""
    with _lock:
        judge = _idle.pop() if _idle else None
    judge = judge or Judge()
    try:
        yield judge
    except BaseException:
        judge.close()
        raise
    with _lock:
        _idle.append(judge)


@atexit.register
def close_judges() -> None:
    """End the idle judges."""
    with _lock:
        judges = list(_idle)
        _idle.clear()
    for judge in judges:
        judge.close()
