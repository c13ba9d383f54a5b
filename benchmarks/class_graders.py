"""Grade one class with stock nbgrader or with this project, and print what that took, as one line of JSON.

Run by class_throughput.py: python benchmarks/class_graders.py SYSTEM CLASSROOM LESSON JOBS
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

STOCK, OURS, PAGES = "stock nbgrader", "this project", "this, with feedback pages"


def grade_stock(room: Path, lesson: str, jobs: int) -> dict[str, Any]:
    """Grade with nbgrader's own command in this process."""
    from nbgrader.apps import AutogradeApp

    os.chdir(room)
    application = AutogradeApp()
    application.initialize([lesson, "--log-level=ERROR"])
    return measured(application.start) | {"points": points(room, lesson)}


def grade_ours(room: Path, lesson: str, jobs: int, *options: str) -> dict[str, Any]:
    """Grade with this project's command in this process, once a first run has started all that a class starts once."""
    import nbformat

    from grader.__main__ import main
    from grader.classroom.base.configuration import read_configuration
    from grader.classroom.gradebook.steps import RunCells

    nothing = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    nothing.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    RunCells(config=read_configuration(room)).execute(nothing, {"assignment": lesson, "student": "nobody"})
    status: list[int] = []
    own, judges = time.process_time(), _judges_cpu_seconds()
    used = measured(lambda: status.append(main(["autograde", str(room), "-j", str(jobs), *options])))
    if status != [0]:
        raise SystemExit(f"autograde ended with status {status[0]}")
    used["this process"] = time.process_time() - own
    used["judges"] = _judges_cpu_seconds() - judges
    return used | {"points": points(room, lesson)}


def _judges_cpu_seconds() -> float:
    """Return what the idle judges have spent since they began: all of them, between two classes."""
    from grader.classroom.judging.judge_process import _idle

    times = [psutil.Process(judge._process.pid).cpu_times() for judge in _idle]
    return float(sum(found.user + found.system for found in times))


def points(room: Path, lesson: str) -> dict[str, float]:
    """Return each student's points, as the gradebook has them."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{room}/gradebook.db") as gradebook:
        return {found.student_id: found.score for found in gradebook.assignment_submissions(lesson)}


def measured(call: Callable[[], object]) -> dict[str, Any]:
    """Return the seconds of a call, and the CPU that the whole machine spent meanwhile: nothing else may run.

    A sandboxed kernel dies with its namespace, and the CPU of what dies so is added to no process that waits for it.
    """
    before, began = _machine_cpu_seconds(), time.perf_counter()
    call()
    return {"seconds": time.perf_counter() - began, "cpu_seconds": _machine_cpu_seconds() - before}


def _machine_cpu_seconds() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.system)  # of all cores; on Linux "user" leaves out "nice"


SYSTEMS: dict[str, Callable[[Path, str, int], dict[str, Any]]] = {
    STOCK: grade_stock,
    OURS: lambda room, lesson, jobs: grade_ours(room, lesson, jobs, "--no-feedback"),
    PAGES: grade_ours,
}


if __name__ == "__main__":
    name, room, lesson, jobs = sys.argv[1:]
    print(json.dumps(SYSTEMS[name](Path(room), lesson, int(jobs))))
