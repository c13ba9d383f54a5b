"""A process that imports torch once and becomes the ranks of each run, by forks of itself.

Started as `python -m grader.ranks.server`. It reads one JSON object a line, a job, and answers each with one line. It
runs no tensor operation and no code of a learner, so a fork has no threads to lose. When its input ends, its ranks end.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, TextIO

import torch

from grader.ranks.worker import run_rank

PRELOADED_PACKAGES = frozenset({"accelerate", "datasets", "grader", "torch", "transformers"})
_LAST_WORDS_SECONDS = 0.5

_ranks: list[BaseProcess] = []


def serve(requests: TextIO, answers: TextIO) -> None:
    """Run jobs one after another until the input ends."""
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in requests:
        job = json.loads(line)
        _preload(job["source"])
        print(json.dumps({"preloaded": True}), file=answers, flush=True)  # from here on the job's limit counts
        print(json.dumps(run_job(job, requests)), file=answers, flush=True)


def run_job(job: dict[str, Any], requests: TextIO) -> dict[str, Any]:
    """Run a job in forks; afterwards none of them runs.

    Args:
        job: As `run_rank` takes it.
        requests: The input; when it ends, so does the job.

    Returns:
        "ended": "done", "failed" or "late"; "ended_at", by the monotonic clock, when the rest was stopped; "exit_codes"
        by rank, negative for a signal and None for a rank that still ran.
    """
    gc.freeze()  # else a collection in a rank, as the Trainer makes it, copies every page of what was imported
    context = multiprocessing.get_context("fork")
    _ranks[:] = [context.Process(target=run_rank, args=(job, rank)) for rank in range(job["world_size"])]
    deadline = time.monotonic() + job["limit_seconds"]
    for rank in _ranks:
        rank.start()
    try:
        ended, ended_at = _watch(deadline, requests)
        return {"ended": ended, "ended_at": ended_at, "exit_codes": [rank.exitcode for rank in _ranks]}
    finally:
        end_ranks()


def _watch(deadline: float, requests: TextIO) -> tuple[str, float]:
    """Wait for all ranks, the first that fails, the deadline, or the end of the input."""
    running = {rank.sentinel: rank for rank in _ranks}
    while running:
        ready = wait([*running, requests.fileno()], max(0.0, deadline - time.monotonic()))
        if requests.fileno() in ready:  # nobody asks while a job runs, so this is the end of the input
            raise SystemExit
        ended = [running.pop(sentinel) for sentinel in ready if isinstance(sentinel, int)]
        for rank in ended:
            rank.join()  # its streams are closed a moment before it has an exit code
        if not ended or any(rank.exitcode != 0 for rank in ended):
            _ask_where_they_are(list(running.values()))
            return ("failed" if ended else "late"), time.monotonic()
    return "done", time.monotonic()


def _ask_where_they_are(ranks: list[BaseProcess]) -> None:
    """Give ranks a moment to fail by themselves, then let them write where they stand."""
    wait([rank.sentinel for rank in ranks], _LAST_WORDS_SECONDS)
    for rank in ranks:
        if rank.pid and rank.is_alive():
            os.kill(rank.pid, signal.SIGUSR1)
    time.sleep(_LAST_WORDS_SECONDS / 5)


def end_ranks() -> None:
    """End the ranks and what they started."""
    for rank in _ranks:
        rank.kill()
    for rank in _ranks:
        rank.join()
    _ranks.clear()


def _preload(source: str) -> None:
    """Import the libraries that a run's functions import; one that is not installed fails in the rank instead.

    A name is also asked for: transformers, and this package, import a module when one of its names is first used.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            wanted = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            wanted = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in wanted:
            if module.partition(".")[0] in PRELOADED_PACKAGES:
                with contextlib.suppress(ImportError, AttributeError):
                    getattr(importlib.import_module(module), name or "__name__")


def _leave(*_: object) -> None:
    end_ranks()
    sys.exit(1)


if __name__ == "__main__":
    importlib.import_module("torch._dynamo")  # dispatch modes and optimizers import it at their first use
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the kernel is interrupted; it then ends this process
    signal.signal(signal.SIGTERM, _leave)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an import prints must not stand among the answers
    serve(sys.stdin, out)
