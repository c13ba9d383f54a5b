"""Start the process that runs one notebook, send it the job, and collect what it reports."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from grader.classroom.sandbox.confinement import NONE, WITH_LOOPBACK, Confinement
from grader.classroom.sandbox.variables import with_import_path
from grader.units import MIB

from .execution import CHANGED, DIED, CellRun, Execution, Limits
from .fork_client import (
    CONFINEMENT_VARIABLE,
    PROVISIONER,
    PROVISIONER_VARIABLE,
    SERVER_VARIABLE,
    ForkedProcess,
    ForkServerError,
    bare_server,
    kernel_server,
    worker_server,
)
from .sandbox_choice import make_confinement, run_folder

Worker = tuple[subprocess.Popen[bytes] | ForkedProcess, IO[bytes], IO[bytes]]  # the process, its stdin, its stdout
GRACE_SECONDS = 90  # for starting and stopping the kernel, in addition to the notebook's own budget
LARGEST_RESULT_BYTES = 128 * MIB  # outputs and observations have their own caps below it


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
        command, stdin=pipe, stdout=pipe, stderr=complaints, env=with_import_path(environment), start_new_session=True
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
            environment=with_import_path(environment) | chosen,
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


class CannotRun(Exception):
    """The kernel could not be started: a fault of the machine, not of the submission."""


def run_apart(
    notebook: str,
    limits: Limits,
    environment: Mapping[str, str],
    support: Mapping[str, bytes],
    kernel: str,
    *,
    is_forked: bool = False,
    sandbox: str = NONE,
    readable: Sequence[str] = (),
    hidden: Sequence[str] = (),
) -> Execution:
    """Run a notebook in a process of its own, in an empty folder of its own.

    Args:
        notebook: The notebook's JSON.
        limits: How long it may run.
        environment: What the kernel finds in its environment.
        support: Files next to the notebook: relative name and content.
        kernel: The kernel's name; "" for the one that the notebook names.
        is_forked: Whether worker and kernel are forked from processes that have imported what they need.
        sandbox: The level of the sandbox in which the kernel runs; the machine must allow it.
        readable: Folders that a confined kernel may read in addition to Python and the system.
        hidden: Folders that it must not see, wherever they are.

    Returns:
        What its cells did; also when the process was killed in the middle.

    Raises:
        CannotRun: if no kernel started, twice.
    """
    job = {"notebook": notebook, "kernel": kernel, "has_loopback": sandbox in WITH_LOOPBACK, **vars(limits)}
    for attempt in (1, 2):
        with run_folder() as run:
            confinement = None if sandbox == NONE else make_confinement(sandbox, run, limits.bounds, readable, hidden)
            folder = Path(run, "files")
            _write_support(support, folder)
            start = functools.partial(fork_worker if is_forked else start_worker, environment, confinement)
            try:
                messages, complaint = _talk_to_worker(job | {"folder": str(folder)}, limits, start)
            except ForkServerError as error:
                messages, complaint = [], str(error)
        if any("started" in message for message in messages):
            return dataclasses.replace(_collect(messages, limits), sandbox=sandbox)
        if attempt == 2:
            raise CannotRun(complaint or "the process ended before a kernel started")
    raise AssertionError("unreachable")


def _write_support(support: Mapping[str, bytes], folder: Path) -> None:
    for name, content in support.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"the support file {name!r} would be outside the folder of the run")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _talk_to_worker(
    job: dict[str, Any], limits: Limits, start: Callable[[IO[bytes]], Worker]
) -> tuple[list[dict[str, Any]], str]:
    """Start the worker, send it the job, and read its lines until it ends or its time is over."""
    with tempfile.TemporaryFile() as complaints:
        worker, stdin, stdout = start(complaints)
        timer = threading.Timer(limits.notebook_seconds + GRACE_SECONDS, worker.kill)
        timer.start()
        messages: list[dict[str, Any]] = []
        try:
            messages = _read_messages(stdin, stdout, json.dumps(job).encode())
        finally:
            timer.cancel()
            worker.kill()
            worker.wait()
            _end_kernels(messages)
        complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - 4000))
        return messages, complaints.read().decode("utf-8", "replace").strip().rpartition("\n")[2]


def _read_messages(stdin: IO[bytes], stdout: IO[bytes], job: bytes) -> list[dict[str, Any]]:
    with contextlib.suppress(BrokenPipeError), stdin:
        stdin.write(job)
    messages: list[dict[str, Any]] = []
    left_bytes = LARGEST_RESULT_BYTES
    with stdout:
        while left_bytes > 0 and (line := stdout.readline(left_bytes)):
            left_bytes -= len(line)
            with contextlib.suppress(ValueError):  # a worker that is killed leaves half a line
                messages.append(json.loads(line))
    return messages


def _end_kernels(messages: list[dict[str, Any]]) -> None:
    """Kill what the kernel left behind in its own process group."""
    for message in messages:
        group = message.get("started")
        if isinstance(group, int) and group > 1:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)


def _collect(messages: list[dict[str, Any]], limits: Limits) -> Execution:
    cells = {message["cell"]["index"]: CellRun(**message["cell"]) for message in messages if "cell" in message}
    for index in _collected(messages, "doubled"):
        cells[index] = dataclasses.replace(cells[index], state=CHANGED)
    seconds = round(sum(cell.seconds for cell in cells.values()), 3)
    notes = list(dict.fromkeys(message["note"] for message in messages if "note" in message))
    end = next((message for message in messages if "end" in message), None)
    if end is None:
        reason = f"the run was killed, or took more than {limits.notebook_seconds} s with no sign of an end"
        return Execution(cells, DIED, reason, seconds, notes=notes, is_final=False)
    more = {"peak_bytes": end["peak_bytes"], "replaced": _collected(messages, "replaced")}
    return Execution(cells, end["end"], end["reason"], seconds, notes=notes, **more)


def _collected(messages: list[dict[str, Any]], key: str) -> list[Any]:
    return [found for message in messages for found in message.get(key, ())]
