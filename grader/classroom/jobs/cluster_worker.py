"""Run one job on a worker of a cluster, if its versions agree with the machine that grades."""

from __future__ import annotations

import dataclasses
import json
import platform
from collections.abc import Mapping
from typing import Any

from grader.classroom.base.errors import ClassroomError
from grader.classroom.running.fork_client import can_fork
from grader.classroom.running.worker_process import CannotRun

from .job import Job, run_job, settle
from .surroundings import grader_digest, local_device, versions

COMPARED = ("python", "torch", "transformers", "accelerate")


def facts() -> dict[str, str]:
    """Return what must be the same on every machine of a grading."""
    found = versions()
    return {"grader": grader_digest()[:12]} | {name: found.get(name, "none") for name in COMPARED}


def describe() -> dict[str, Any]:
    """Return what a worker says of itself."""
    return {"facts": facts(), "host": platform.node(), "device": local_device()}


def level_of(text: str) -> dict[str, str]:
    """Return the level of the sandbox that this worker gives a job, or why it gives none."""
    try:
        return {"level": settle(Job.from_json(json.loads(text))).sandbox}
    except ClassroomError as error:
        return {"refused": _refusal(error)}


def _refusal(error: ClassroomError) -> str:
    return f"The worker on {platform.node()} cannot grade. {error}"


def run_text(text: str, head: dict[str, str]) -> str:
    """Run a job on a worker of the cluster; a notebook that crashes takes a child process with it, and no worker.

    Args:
        text: The job, as JSON.
        head: The facts of the machine that grades.

    Returns:
        The run, as JSON; or why this worker is refused, or how the grader failed.

    Raises:
        CannotRun: if this machine fails; the scheduler then tries again.
    """
    refusal = difference(head, facts(), platform.node())
    if refusal:
        return json.dumps({"refused": refusal})
    job = Job.from_json(json.loads(text))
    try:
        execution = run_job(dataclasses.replace(job, is_forked=job.is_forked and can_fork()))
    except ClassroomError as error:  # no sandbox
        return json.dumps({"refused": _refusal(error)})
    except (CannotRun, OSError) as error:
        raise CannotRun(f"on {platform.node()}: {error}") from None
    except Exception as error:  # a fault of the grader's own, which another machine would repeat
        return json.dumps({"failed": f"{type(error).__name__}: {error}"})
    return json.dumps({"execution": execution.to_json()})


def difference(head: Mapping[str, str], worker: Mapping[str, str], host: str) -> str:
    """Return why a worker cannot grade for this head, or ""."""
    different = [name for name in head if head[name] != worker.get(name, "none")]
    if not different:
        return ""
    differences = ", ".join(f"{name} {worker.get(name, 'none')} there, {head[name]} here" for name in different)
    return (
        f"The worker on {host} is refused: {differences}. "
        "Install the same version of the course and the same packages (constraints.txt) on both, then grade again."
    )
