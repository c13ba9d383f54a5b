"""How the process that runs one notebook is started."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from .forked import ForkedProcess
from .servers import PROVISIONER, PROVISIONER_VARIABLE, SERVER_VARIABLE, kernel_server, worker_server

Worker = tuple[subprocess.Popen[bytes] | ForkedProcess, IO[bytes], IO[bytes]]  # the process, its stdin, its stdout


def start_worker(environment: Mapping[str, str], complaints: IO[bytes]) -> Worker:
    """Start a worker as a new process, with its complaints on stderr."""
    command = [sys.executable, "-P", "-m", "grader.classroom.worker"]
    pipe = subprocess.PIPE
    worker = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=complaints, env=_with_import_path(environment), start_new_session=True
    )
    assert worker.stdin is not None and worker.stdout is not None
    return worker, worker.stdin, worker.stdout


def fork_worker(environment: Mapping[str, str], complaints: IO[bytes]) -> Worker:
    """Fork a worker that will fork its kernel.

    Raises:
        ForkServerError: if a fork server cannot be started, or does not answer.
    """
    chosen = {PROVISIONER_VARIABLE: PROVISIONER, SERVER_VARIABLE: kernel_server().path}
    (job, stdin), (stdout, lines) = os.pipe(), os.pipe()
    try:
        worker = ForkedProcess(
            worker_server().path,
            "grader.classroom.worker:run_forked",
            [],
            environment=_with_import_path(environment) | chosen,
            folder=tempfile.gettempdir(),
            descriptors=(job, lines, complaints.fileno()),
        )
    except BaseException:
        os.close(stdin)
        os.close(stdout)
        raise
    finally:
        os.close(job)
        os.close(lines)
    return worker, os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")


def _with_import_path(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with this very package first in PYTHONPATH."""
    package = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join(path for path in (package, environment.get("PYTHONPATH", "")) if path)
    return {**environment, "PYTHONPATH": paths}
