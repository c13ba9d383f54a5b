"""What running a notebook gave, as plain data, and how one submission is run apart from the grader."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from grader.units import MIB

from .forked import ForkServerError
from .workers import fork_worker, start_worker

OK, ERROR, TIMEOUT, DIED, NOT_REACHED = "ok", "error", "timeout", "died", "not_reached"
CHANGED = "changed"  # the kernel no longer runs what it is sent
TAMPERED, UNDECIDED = "tampered", "undecided"  # verdicts that a person has to look at
FINISHED = "finished"
GRACE_SECONDS = 90  # for starting and stopping the kernel, beside the notebook's own budget
LARGEST_RESULT_BYTES = 128 * MIB  # outputs and observations have their own caps below it


@dataclass(frozen=True)
class Limits:
    """How long a submission may run.

    Attributes:
        cell_seconds: Limit of one cell.
        notebook_seconds: Limit of all cells together.
    """

    cell_seconds: int = 120
    notebook_seconds: int = 600


@dataclass(frozen=True)
class CellRun:
    """What one code cell did.

    Attributes:
        index: Its place in the notebook.
        state: "ok", "error", "timeout", "died" or "changed".
        seconds: How long it ran.
        outputs: Its outputs, in the notebook format, without observations.
        observations: What it emitted for a judge, as text; None for what is no text or too large.
        steps: Its measured steps as seen from outside: "grown_bytes", how far the kernel's memory grew in each (None
            where it cannot be read), and "strays", signals that belong to none; None where nothing can be seen.
        control: For a check that seems to pass, what it did with the untouched exercise: "state", "observations",
            "text" of its stdout, "result" of its last line.
        verdict: Of a check that is judged outside: "outcome", "code", "expected", "measured", "look_at".
    """

    index: int
    state: str
    seconds: float
    outputs: list[dict[str, Any]]
    observations: list[str | None] = field(default_factory=list)
    steps: dict[str, Any] | None = None
    control: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None


@dataclass(frozen=True)
class Execution:
    """What a notebook did: the only thing that scoring sees of a run.

    Attributes:
        cells: The code cells that were reached, by their place in the notebook.
        end: "finished", or why the rest was not reached: "died", "timeout" or "not_run".
        reason: The same as a sentence, or "".
        seconds: How long the cells ran together.
        notes: What the instructor may want to know; no note costs a point.
    """

    cells: Mapping[int, CellRun] = field(default_factory=dict)
    end: str = FINISHED
    reason: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    def __deepcopy__(self, memo: object) -> Execution:
        """Return itself: nbconvert copies all that it hands on, and nobody changes this."""
        return self


class CannotRun(Exception):
    """The kernel could not be started: a fault of the machine, not of the submission."""


def run_apart(
    notebook: str,
    limits: Limits,
    environment: Mapping[str, str],
    support: Path | None,
    kernel: str,
    *,
    is_forked: bool = False,
) -> Execution:
    """Run a notebook in a process of its own, in an empty folder of its own.

    Args:
        notebook: The notebook's JSON.
        limits: How long it may run.
        environment: What the kernel finds in its environment.
        support: Folder whose files, without notebooks, lie beside the notebook; None for none.
        kernel: The kernel's name; "" for the one that the notebook names.
        is_forked: Whether worker and kernel are forked from processes that have imported what they need.

    Returns:
        What its cells did; also when the process was killed in the middle.

    Raises:
        CannotRun: if no kernel started, twice.
    """
    job = {"notebook": notebook, "kernel": kernel, **vars(limits)}
    for attempt in (1, 2):
        with tempfile.TemporaryDirectory(prefix="lean-training-", ignore_cleanup_errors=True) as folder:
            _copy_support(support, Path(folder))
            try:
                messages, complaint = _talk_to_worker(job | {"folder": folder}, limits, environment, is_forked)
            except ForkServerError as error:
                messages, complaint = [], str(error)
        if any("started" in message for message in messages):
            return _collect(messages, limits)
        if attempt == 2:
            raise CannotRun(complaint or "the process ended before a kernel started")
    raise AssertionError("unreachable")


def _copy_support(support: Path | None, folder: Path) -> None:
    if support is not None and support.is_dir():
        ignore = shutil.ignore_patterns("*.ipynb", ".*", "__pycache__")
        shutil.copytree(support, folder, ignore=ignore, dirs_exist_ok=True)


def _talk_to_worker(
    job: dict[str, Any], limits: Limits, environment: Mapping[str, str], is_forked: bool
) -> tuple[list[dict[str, Any]], str]:
    """Start the worker, send it the job, and read its lines until it ends or its time is over."""
    start = fork_worker if is_forked else start_worker
    with tempfile.TemporaryFile() as complaints:
        worker, stdin, stdout = start(environment, complaints)
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
    seconds = round(sum(cell.seconds for cell in cells.values()), 3)
    notes = tuple(dict.fromkeys(message["note"] for message in messages if "note" in message))
    end = next((message for message in messages if "end" in message), None)
    if end is None:
        reason = f"the run was killed, or took more than {limits.notebook_seconds} s with no sign of an end"
        return Execution(cells, DIED, reason, seconds, notes)
    return Execution(cells, end["end"], end["reason"], seconds, notes)
