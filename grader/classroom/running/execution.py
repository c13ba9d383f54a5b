"""Describe a run of a notebook as plain data: its limits, its cells, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.classroom.base.json_fields import checked_fields, known_fields, plain_fields
from grader.classroom.sandbox.confinement import NONE, Bounds

OK, ERROR, TIMEOUT, DIED, NOT_REACHED = "ok", "error", "timeout", "died", "not_reached"
STUCK = "stuck"  # a cell that cannot be interrupted
CHANGED = "changed"  # the kernel no longer runs what it is sent
TAMPERED, UNDECIDED = "tampered", "undecided"  # verdicts that a person has to look at
FINISHED = "finished"
CPU_FACTOR = 4  # of processes that compute side by side, and of a kernel that begins again
NOT_RUN = "not_run"  # there was no notebook


@dataclass(frozen=True)
class Limits:
    """The limits of a submission's run.

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
    """The run of one code cell.

    Attributes:
        index: Its place in the notebook.
        state: "ok", "error", "timeout", "died" or "changed".
        seconds: How long it ran.
        outputs: Its outputs, in the notebook format, without observations.
        observations: What it emitted for a judge, as text; None for what is no text or too large.
        steps: Its measured steps as seen from outside: "grown_bytes", how far the kernel's memory grew in each (None
            where it cannot be read), and "strays", signals that belong to none; None where nothing can be seen.
        replaced: What its check rests on and the notebook had replaced when it began.
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
    replaced: list[str] = field(default_factory=list)
    control: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None


@dataclass(frozen=True)
class Execution:
    """The run of a notebook: all that scoring sees of it.

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
        left_out: Places of demonstrations that were not run.
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
    left_out: list[int] = field(default_factory=list)

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
