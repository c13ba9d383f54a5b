"""Run a whole notebook in a Jupyter kernel, as a learner or nbgrader does."""

from __future__ import annotations

import copy
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from nbformat.notebooknode import NotebookNode

from .forks import ENVIRONMENT

CELL_LIMIT_SECONDS = 300
OWN_PACKAGE = str(Path(__file__).resolve().parents[2])  # another checkout may have installed its own


@dataclass(frozen=True)
class Execution:
    """A notebook with its outputs.

    Attributes:
        notebook: The executed notebook.
        seconds: How long it took, the kernel's start included.
    """

    notebook: NotebookNode
    seconds: float


def execute(notebook: NotebookNode) -> Execution:
    """Run every cell in a fresh kernel and an empty folder; an error does not stop the next cell.

    Args:
        notebook: As it is released, or solved.

    Returns:
        The notebook with its outputs.
    """
    from nbclient import NotebookClient

    executed = copy.deepcopy(notebook)
    start_seconds = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            executed,
            timeout=CELL_LIMIT_SECONDS,
            kernel_name="python3",
            allow_errors=True,
            extra_arguments=["--IPKernelApp.log_level=40"],  # it warns of TCP on loopback at each start
            resources={"metadata": {"path": folder}},
        )
        backend = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}  # as a kernel sets it by itself
        found = {"PYTHONPATH": os.pathsep.join(filter(None, [OWN_PACKAGE, os.environ.get("PYTHONPATH")]))}
        client.execute(env=os.environ | ENVIRONMENT | backend | found)
    return Execution(executed, time.monotonic() - start_seconds)


def earned_points(executed: NotebookNode) -> dict[str, int]:
    """Return what each check earns by nbgrader's own rule."""
    from nbgrader.utils import determine_grade, is_grade

    graded = [cell for cell in executed.cells if is_grade(cell)]
    return {cell.metadata.nbgrader.grade_id: int(determine_grade(cell)[0] or 0) for cell in graded}


@dataclass(frozen=True)
class Disturbance:
    """An error or a text on stderr in one cell of an executed notebook.

    Attributes:
        cell_index: Its place in the notebook, from 0.
        is_check: Whether the cell is graded.
        name: The exception's class, or "stderr".
        text: The exception's message, or what stderr says.
    """

    cell_index: int
    is_check: bool
    name: str
    text: str


def disturbances(executed: NotebookNode) -> list[Disturbance]:
    """List the errors of all cells, and what check cells wrote to stderr."""
    found = []
    for index, cell in enumerate(executed.cells):
        is_check = cell.metadata.get("nbgrader", {}).get("grade", False)
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                found.append(Disturbance(index, is_check, output.ename, output.evalue))
            elif output.output_type == "stream" and output.name == "stderr" and is_check:
                found.append(Disturbance(index, is_check, "stderr", output.text.strip()))
    return found
