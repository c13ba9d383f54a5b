"""How the process that runs one notebook is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from grader.classroom.sandbox.confinement import Confinement

from .fork_client import ForkedProcess
from .fork_servers import (
    CONFINEMENT_VARIABLE,
    PROVISIONER,
    PROVISIONER_VARIABLE,
    SERVER_VARIABLE,
    bare_server,
    kernel_server,
    worker_server,
)

Worker = tuple[subprocess.Popen[bytes] | ForkedProcess, IO[bytes], IO[bytes]]  # the process, its stdin, its stdout


def start_worker(environment: Mapping[str, str], confinement: Confinement | None, complaints: IO[bytes]) -> Worker:
    """Start a worker as a new process, with its complaints on stderr.

    Raises:
        ForkServerError: if its kernel is confined, and the fork server for that cannot be started.
    """
    if confinement is not None:
        environment = {**environment, **_provisioned(bare_server().path, confinement)}
    command = [sys.executable, "-P", "-m", "grader.classroom.running.worker"]
    pipe = subprocess.PIPE
    worker = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=complaints, env=_with_import_path(environment), start_new_session=True
    )
    assert worker.stdin is not None and worker.stdout is not None
    return worker, worker.stdin, worker.stdout


def fork_worker(environment: Mapping[str, str], confinement: Confinement | None, complaints: IO[bytes]) -> Worker:
    """Fork a worker that will fork its kernel.

    Raises:
        ForkServerError: if a fork server cannot be started, or does not answer.
    """
    chosen = _provisioned(kernel_server().path, confinement)
    (job, stdin), (stdout, lines) = os.pipe(), os.pipe()
    try:
        worker = ForkedProcess(
            worker_server().path,
            "grader.classroom.running.worker:run_forked",
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


def _provisioned(server: str, confinement: Confinement | None) -> dict[str, str]:
    """Return what makes the worker's kernels come from a fork server, and into a sandbox."""
    chosen = {PROVISIONER_VARIABLE: PROVISIONER, SERVER_VARIABLE: server}
    if confinement is not None:
        chosen[CONFINEMENT_VARIABLE] = json.dumps(confinement.to_dict())
    return chosen


def _with_import_path(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with this very package first in PYTHONPATH."""
    package = str(Path(__file__).resolve().parents[3])
    paths = os.pathsep.join(path for path in (package, environment.get("PYTHONPATH", "")) if path)
    return {**environment, "PYTHONPATH": paths}
