"""The kernel's end of the process that becomes the ranks."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from typing import Any

from grader.gpu_files import CHOICES
from grader.ranks import server

_SPARE_SECONDS = 10.0
_IMPORT_SECONDS = 180.0  # of libraries: about 4 on a quiet machine, far longer than the run on a crowded one


class RankServer:
    """The process that becomes the ranks; started at the first run, ended with the kernel."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._stderr = tempfile.TemporaryFile()
        self._unread = b""
        environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": _loopback()}
        environment["JE_ARROW_MALLOC_CONF"] = "background_thread:false"  # a fork would lose the thread
        environment |= dict.fromkeys(CHOICES, "")  # ranks compute on the CPU: gloo, and more of them than GPUs
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", server.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
            bufsize=0,
        )
        try:
            self._read_line(_IMPORT_SECONDS)
        except BaseException:  # also an interrupt of the kernel: nothing stays behind
            self.end()
            raise

    def run(self, job: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """Run a job and return what `run_job` says of it, and its seconds."""
        assert self._process.stdin, "the server was started with pipes"
        started = time.monotonic()
        try:
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._read_line(_IMPORT_SECONDS)
            answer = self._read_line(job["limit_seconds"] + _SPARE_SECONDS)
        except BaseException:  # also an interrupt of the kernel: nothing stays behind
            self.end()
            raise
        return answer, time.monotonic() - started

    def is_alive(self) -> bool:
        """Return whether it can take a job of this process."""
        return self.owner == os.getpid() and self._process.poll() is None

    def end(self) -> None:
        """End the server and its ranks."""
        if self.owner == os.getpid():
            self._process.terminate()
            try:
                self._process.wait(_SPARE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream:
                stream.close()

    def _read_line(self, limit_seconds: float) -> dict[str, Any]:
        assert self._process.stdout, "the server was started with pipes"
        deadline = time.monotonic() + limit_seconds
        while b"\n" not in self._unread:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._process.stdout], [], [], left)[0]:
                raise RuntimeError(f"the process of the ranks gave no answer within {limit_seconds:g} s")
            chunk = self._process.stdout.read(65536)
            if not chunk:
                self._stderr.seek(0)
                raise RuntimeError(
                    f"the process of the ranks ended: {self._stderr.read().decode(errors='replace')[-600:]}"
                )
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _loopback() -> str:
    return "lo0" if sys.platform == "darwin" else "lo"


_servers: list[RankServer] = []


def rank_server() -> RankServer:
    """Return the process of this kernel; start it where there is none."""
    if not _servers or not _servers[0].is_alive():
        end_server()
        _servers.append(RankServer())
    return _servers[0]


@atexit.register
def end_server() -> None:
    """End the process of the ranks, where one runs."""
    for one in _servers:
        one.end()
    _servers.clear()
