"""Describe and run the notebook of one submission; the same job runs here or on another machine."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat

from grader.classroom.base.json_fields import checked_fields, plain_fields
from grader.classroom.base.storage import scratch_folder
from grader.classroom.judging.verdicts import judge_execution
from grader.classroom.lesson.demonstrations import without_cells
from grader.classroom.running.execution import DIED, Execution, Limits
from grader.classroom.running.fork_client import bare_server, kernel_server
from grader.classroom.running.sandbox_choice import chosen_level
from grader.classroom.running.worker_process import run_apart
from grader.classroom.sandbox.confinement import AUTO

from .seeds import kernel_environment

LEFT_OUT = "__pycache__"
SEED_SHOWN = "(the seed)"


@dataclass(frozen=True)
class Job:
    """One notebook to run, and all that its run depends on.

    Attributes:
        notebook: The JSON text of the notebook that is to be run.
        lesson: The lesson's name.
        seed: The lesson's seed in this class; the secret that it is drawn from is not here.
        limits: How long the notebook may run.
        support: The files next to the notebook: relative name, with "/" between its parts, and content.
        kernel: The kernel's name; "" for the one that the notebook names.
        is_forked: Whether the kernel is forked from a process that has imported the course's libraries.
        sandbox: The level of the sandbox; "auto" for the best that the machine allows.
        is_unsafe: Whether it may run without a sandbox, where the machine allows none.
        readable: Folders that a confined kernel may read in addition to Python and the system.
        hidden: Folders that it must not see, wherever they are.
        left_out: Places of cells that are not run, unless a missing name or a death asks for the whole notebook.
    """

    notebook: str
    lesson: str
    seed: int
    limits: Limits = field(default_factory=Limits)
    support: Mapping[str, bytes] = field(default_factory=dict)
    kernel: str = ""
    is_forked: bool = False
    sandbox: str = AUTO
    is_unsafe: bool = False
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the job as a dict that JSON can carry."""
        support = {name: base64.b64encode(content).decode() for name, content in self.support.items()}
        return plain_fields(self) | {"limits": dataclasses.asdict(self.limits), "support": support}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Job:
        """Return the job that `to_json` wrote.

        Raises:
            ValueError: if it is of another format, or has fields that this version does not know.
        """
        fields = checked_fields(cls, plain)
        fields["limits"] = Limits(**fields["limits"])
        fields |= {name: tuple(fields[name]) for name in ("readable", "hidden", "left_out")}
        fields["support"] = {name: base64.b64decode(text) for name, text in fields["support"].items()}
        return cls(**fields)


def settle(job: Job) -> Job:
    """Return the job with the level of the sandbox that this machine gives it.

    Raises:
        ClassroomError: if the machine allows no sandbox, and none was not asked for.
    """
    server = kernel_server if job.is_forked else bare_server
    return dataclasses.replace(job, sandbox=chosen_level(job.sandbox, lambda: server().path, is_unsafe=job.is_unsafe))


def run_job(job: Job) -> Execution:
    """Run one notebook in a process of its own, in an empty folder of its own.

    Returns:
        What its cells did, with the verdicts of judges; also when the process was killed in the middle.

    Raises:
        CannotRun: if no kernel started, twice.
        ClassroomError: if the machine allows no sandbox, and none was not asked for.
    """
    if job.left_out:
        execution = _run(dataclasses.replace(job, notebook=without_cells(job.notebook, job.left_out)))
        if not _needs_all_cells(execution):
            return dataclasses.replace(execution, left_out=list(job.left_out))
    return _run(job)


def _needs_all_cells(execution: Execution) -> bool:
    """Return whether a run without demonstrations found a name missing, or lost its kernel."""
    is_dead = execution.end == DIED or any(cell.state == DIED for cell in execution.cells.values())
    said = json.dumps([[cell.outputs, cell.verdict] for cell in execution.cells.values()])
    return is_dead or "NameError" in said or "is not defined" in said


def _run(job: Job) -> Execution:
    runtime = {"JUPYTER_RUNTIME_DIR": str(scratch_folder() / "jupyter")}  # for connection files
    execution = run_apart(
        job.notebook,
        job.limits,
        kernel_environment(os.environ, job.seed) | runtime,
        job.support,
        job.kernel,
        is_forked=job.is_forked,
        sandbox=settle(job).sandbox,
        readable=job.readable,
        hidden=job.hidden,
    )
    execution = without_seed(execution, job.seed)
    return judge_execution(nbformat.reads(job.notebook, as_version=4), execution, job.seed)


def without_seed(execution: Execution, seed: int) -> Execution:
    """Return a run whose outputs do not show the seed, which a classmate could replay."""
    cells = {
        index: dataclasses.replace(run, outputs=_without(run.outputs, str(seed)))
        for index, run in execution.cells.items()
    }
    return dataclasses.replace(execution, cells=cells)


def _without(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {_without(key, text): _without(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [_without(item, text) for item in value]
    return str(value).replace(text, SEED_SHOWN) if text in str(value) else value


def read_support(folder: Path) -> dict[str, bytes]:
    """Return the files of a lesson's folder that a run gets: all except notebooks and hidden files.

    Args:
        folder: The lesson's folder in `source`; one that is not there has no files.
    """
    files = {}
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != LEFT_OUT)
        for name in sorted(names):
            if not name.startswith(".") and not name.endswith(".ipynb"):
                path = Path(place, name)
                files[str(PurePosixPath(path.relative_to(folder)))] = path.read_bytes()
    return files
