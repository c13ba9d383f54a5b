"""A lesson with real checks of the course, which are judged outside, and one cell of an instructor's own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache

import nbformat
from nbformat.notebooknode import NotebookNode
from small_course import code

from grader.classroom.handed_in.alignment import align
from grader.classroom.handed_in.reading import LearnerCell
from grader.classroom.jobs.job import Job, run_job
from grader.classroom.jobs.seeds import kernel_environment
from grader.classroom.lesson.master import untouched
from grader.classroom.running.execution import Execution, Limits
from grader.classroom.running.worker_process import run_apart
from grader.classroom.sandbox.confinement import AUTO
from grader.classroom.scoring.scores import Score, score_notebook

SEED = 20011
GIVEN = """\
import torch
import torch.nn.functional as F
from grader import check_accumulated_gradients, check_largest_micro_batch, check_token_peak"""

ANSWERS = {
    "accumulate_gradients": """\
def accumulate_gradients(model, loss_function, optimizer, micro_batches, k):
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()""",
    "largest_micro_batch": """\
def largest_micro_batch(forecast_peak, batch, budget_bytes):
    fitting = [n for n in range(1, batch + 1) if batch % n == 0 and forecast_peak(n) <= budget_bytes]
    if not fitting:
        raise ValueError("not even one row fits")
    return max(fitting)""",
    "accumulate_token_gradients": """\
def accumulate_token_gradients(model, micro_batches):
    count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    total = 0.0
    for tokens, targets in micro_batches:
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum") / count
        loss.backward()
        total += loss.item()
    return total""",
    "triple": "def triple(number: torch.Tensor) -> torch.Tensor:\n    return 3 * number",
}
CHECKS = {
    "accumulate_gradients": """\
# check: check_accumulated_gradients (3 points)
check_accumulated_gradients(accumulate_gradients)""",
    "largest_micro_batch": """\
# check: check_largest_micro_batch (2 points)
check_largest_micro_batch(largest_micro_batch)""",
    "accumulate_token_gradients": """\
# check: check_token_peak (2 points)
check_token_peak(accumulate_token_gradients)""",
    "triple": "assert triple(2) == 6\nassert triple(5) == 15",
}
POINTS = {
    "check_accumulated_gradients": 3,
    "check_largest_micro_batch": 2,
    "check_token_peak": 2,
    "check_triple": 1,
}
WHOLE_BATCH = """\
def accumulate_token_gradients(model, micro_batches):
    tokens, targets = (torch.cat(parts) for parts in zip(*micro_batches))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    loss.backward()
    return loss.item()"""


@cache
def build_master() -> NotebookNode:
    cells = [code(GIVEN, "given_imports")]
    for (exercise, answer), (check, points) in zip(ANSWERS.items(), POINTS.items(), strict=True):
        head, _, body = answer.partition("\n")
        marked = f"# exercise: {exercise}\n{head}\n    ### BEGIN SOLUTION\n{body}\n    ### END SOLUTION"
        cells.append(code(marked, exercise, is_answer=True))
        cells.append(code(CHECKS[exercise], check, points=points))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernelspec})


def rebuilt(answers: Mapping[str, str], own_cells: Sequence[str] = ()) -> NotebookNode:
    """Return a solved submission with some other answers, and cells of the learner's own at the end of the set-up."""
    learner = [LearnerCell("code", GIVEN, "given_imports"), *(LearnerCell("code", source) for source in own_cells)]
    for exercise, check in zip(ANSWERS, POINTS, strict=True):
        learner.append(LearnerCell("code", {**ANSWERS, **answers}[exercise], exercise))
        learner.append(LearnerCell("code", CHECKS[exercise], check))
    return align(untouched(build_master()), learner).notebook


def executed(notebook: NotebookNode, *, seed: int = SEED) -> Execution:
    """Run without a judge, and without a sandbox."""
    text, environment = nbformat.writes(notebook), kernel_environment(os.environ, seed)
    return run_apart(text, Limits(), environment, {}, "python3", is_forked=True)


def graded(
    own_cells: Sequence[str] = (), *, is_forked: bool = True, sandbox: str = AUTO, **answers: str
) -> tuple[dict[str, Score], Execution]:
    """Run, judge and score a submission; return its scores by check, and the judged run."""
    notebook = rebuilt(answers, own_cells)
    job = Job(nbformat.writes(notebook), "07_judged", SEED, is_forked=is_forked, sandbox=sandbox, is_unsafe=True)
    execution = run_job(job)
    return {score.check: score for score in score_notebook(notebook, execution)}, execution


def late(check: str, own: str) -> str:
    """Return a cell by which an own cell runs once, when its check begins: after the identities were asked for."""
    return f"""\
def as_it_begins(info):
    if {check + "("!r} in info.raw_cell and "probe" not in info.raw_cell:
        get_ipython().events.unregister("pre_run_cell", as_it_begins)
        exec({own!r}, get_ipython().user_ns)
get_ipython().events.register("pre_run_cell", as_it_begins)"""
