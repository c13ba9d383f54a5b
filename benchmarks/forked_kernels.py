"""Measure the seconds that one submission costs in addition to its cells, with started and forked kernels in turns.

Run: python benchmarks/forked_kernels.py [ROUNDS]
"""

from __future__ import annotations

import statistics
import sys
import time

import nbformat

from grader.classroom.jobs.job import Job, run_job
from grader.units import format_seconds

IMPORTS = "import torch, datasets\nfrom accelerate import Accelerator\nfrom transformers import Trainer"
CELLS = (IMPORTS, "print(torch.ones(3).sum())")


def make_notebook() -> str:
    """A notebook that imports what the lessons import, and computes next to nothing."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return str(nbformat.writes(notebook))


def seconds_of_run(notebook: str, *, is_forked: bool) -> float:
    """Run the notebook once; an end before its last cell is an error."""
    began = time.perf_counter()
    execution = run_job(Job(notebook, lesson="", seed=0, is_forked=is_forked))
    if [cell.state for cell in execution.cells.values()] != ["ok"] * len(CELLS):
        raise SystemExit(f"the notebook did not run: {execution}")
    return time.perf_counter() - began


def main() -> None:
    """Print both medians, their ratio, and what the start of the fork servers costs once."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    notebook = make_notebook()
    first = seconds_of_run(notebook, is_forked=True)  # starts the servers
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for is_forked, runs in seconds.items():
            runs.append(seconds_of_run(notebook, is_forked=is_forked))
    forked, started = (statistics.median(seconds[is_forked]) for is_forked in (True, False))
    print(f"started {format_seconds(started)}, forked {format_seconds(forked)}, ratio {started / forked:.1f}")
    print(f"once for a class: {format_seconds(first - forked)} to start the fork servers")


if __name__ == "__main__":
    main()
