"""What running a notebook gave, as plain data, and how one submission is run apart from the grader."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from grader.classroom.base.json_fields import checked_fields, known_fields, plain_fields
from grader.classroom.sandbox.confinement import NONE, WITH_LOOPBACK, Bounds
from grader.units import MIB

from .fork_client import ForkServerError
from .sandbox_choice import make_confinement, run_folder
from .worker_start import Worker, fork_worker, start_worker

OK, ERROR, TIMEOUT, DIED, NOT_REACHED = "ok", "error", "timeout", "died", "not_reached"
STUCK = "stuck"  # a cell that cannot be interrupted
CHANGED = "changed"  # the kernel no longer runs what it is sent
TAMPERED, UNDECIDED = "tampered", "undecided"  # verdicts that a person has to look at
FINISHED = "finished"
GRACE_SECONDS = 90  # for starting and stopping the kernel, beside the notebook's own budget
CPU_FACTOR = 4  # of processes that compute side by side, and of a kernel that begins again
LARGEST_RESULT_BYTES = 128 * MIB  # outputs and observations have their own caps below it


@dataclass(frozen=True)
class Limits:
    """How long a submission may run.

    Attributes:
        cell_seconds: Limit of one cell.
        notebook_seconds: Limit of all cells together.
        memory_bytes: Memory of the kernel and all that it starts.
        scratch_bytes: Files that they write, together.
        processes: Processes and threads, together.
    """

    cell_seconds: int = 120
    notebook_seconds: int = 600
    memory_bytes: int = Bounds.memory_bytes
    scratch_bytes: int = Bounds.scratch_bytes
    processes: int = Bounds.processes

    @property
    def bounds(self) -> Bounds:
        """Return what a sandbox keeps of these limits."""
        return Bounds(self.memory_bytes, self.processes, self.scratch_bytes, CPU_FACTOR * self.notebook_seconds)


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
        sandbox: The level of the sandbox in which they ran.
        is_final: Whether another run would end alike; False where the machine failed, and such a run is not kept.
        notes: What the instructor may want to know; no note costs a point.
        peak_bytes: The most memory that its kernel held, shared pages included; None where that cannot be read.
        replaced: What checks in the kernel rest on and the notebook replaced: the lesson's own modules, and others.
    """

    cells: Mapping[int, CellRun] = field(default_factory=dict)
    end: str = FINISHED
    reason: str = ""
    seconds: float = 0.0
    sandbox: str = NONE
    is_final: bool = True
    notes: list[str] = field(default_factory=list)
    peak_bytes: int | None = None
    replaced: list[str] = field(default_factory=list)

    def __deepcopy__(self, memo: object) -> Execution:
        """Return itself: nbconvert copies all that it hands on, and nobody changes this."""
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the run as a dict that JSON can carry."""
        return plain_fields(self) | {"cells": [vars(run) for run in self.cells.values()]}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Execution:
        """Return the run that `to_json` wrote; a field that is not there has its default.

        Raises:
            ValueError: if it is of another format, or has fields that this version does not know.
        """
        fields = checked_fields(cls, plain)
        try:
            runs = [CellRun(**known_fields(CellRun, run)) for run in fields.get("cells", [])]
            return cls(**fields | {"cells": {run.index: run for run in runs}})
        except TypeError as error:
            raise ValueError(f"no run of a notebook: {error}") from None


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
        support: Files that lie beside the notebook: relative name and content.
        kernel: The kernel's name; "" for the one that the notebook names.
        is_forked: Whether worker and kernel are forked from processes that have imported what they need.
        sandbox: The level of the sandbox in which the kernel runs; the machine must allow it.
        readable: Folders that a confined kernel may read beside Python and the system.
        hidden: Folders that it must not see, wherever they lie.

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
            raise ValueError(f"the support file {name!r} would lie outside the folder of the run")
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
    for index in _told(messages, "doubled"):
        cells[index] = dataclasses.replace(cells[index], state=CHANGED)
    seconds = round(sum(cell.seconds for cell in cells.values()), 3)
    notes = list(dict.fromkeys(message["note"] for message in messages if "note" in message))
    end = next((message for message in messages if "end" in message), None)
    if end is None:
        reason = f"the run was killed, or took more than {limits.notebook_seconds} s with no sign of an end"
        return Execution(cells, DIED, reason, seconds, notes=notes, is_final=False)
    more = {"peak_bytes": end["peak_bytes"], "replaced": _told(messages, "replaced")}
    return Execution(cells, end["end"], end["reason"], seconds, notes=notes, **more)


def _told(messages: list[dict[str, Any]], key: str) -> list[Any]:
    return [found for message in messages for found in message.get(key, ())]
