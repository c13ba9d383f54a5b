"""Run lists of cells in forks of warm processes, a few at a time."""

from __future__ import annotations

import ast
import json
import os
import queue
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from .errors import AuthoringError

SERVER = "grader.authoring.fork_server"
HEAVY_MODULES = (
    "torch",
    "accelerate",
    "transformers.trainer",
    "datasets",
    "matplotlib.pyplot",
)
GRADER_PACKAGES = ("observing", "lessons", "judging", "testbed", "meters")
HEAVY_SIGNS = frozenset({"torch", "grader", "transformers", "accelerate"})
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "TOKENIZERS_PARALLELISM": "false"}

Environment = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CellRun:
    """The outcome of one cell.

    Attributes:
        label: The cell's name in the job.
        error_name: The class of the exception, "" for none.
        code: The misconception code of a failed check, "" where the exception has none.
        message: The three lines of a failed check, or the exception's text.
        look_at: The *look at* line of a failed check, "" where the exception has none.
        stderr: What the cell wrote to file descriptor 2.
        seconds: How long it ran.
    """

    label: str
    error_name: str
    code: str
    message: str
    look_at: str
    stderr: str
    seconds: float


@dataclass(frozen=True)
class JobRun:
    """The outcome of a job: the cells that ended, and "done", "timeout" or "died"."""

    cells: tuple[CellRun, ...]
    ended: str


@dataclass(frozen=True)
class Job:
    """Cells to run in order, as pairs of label and source, under one limit; an error in one does not stop the next."""

    cells: tuple[tuple[str, str], ...]
    limit_seconds: float
    environment: Environment = ()


class ForkPool:
    """A few warm processes, each of which runs one job at a time; a context manager.

    Args:
        processes: How many.
        sources: Code whose import statements are run once in each.
    """

    def __init__(self, processes: int, sources: Iterable[str]):
        self._request = _preload_request(sources)
        self._idle: queue.Queue[subprocess.Popen[str]] = queue.Queue()
        self._servers = [_start_server() for _ in range(processes)]
        self._threads = ThreadPoolExecutor(processes)

    def __enter__(self) -> ForkPool:
        for server in self._servers:
            _exchange(server, self._request)
            self._idle.put(server)
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.terminate()
        self._threads.shutdown(cancel_futures=True)
        for server in self._servers:
            server.communicate()

    def run_all(self, jobs: Sequence[Job]) -> Iterator[JobRun]:
        """Run the jobs in parallel; yield the results in the order of the jobs, each as soon as it is known."""
        return self._threads.map(self.run, jobs)

    def run(self, job: Job) -> JobRun:
        """Run one job on the next idle process."""
        server = self._idle.get()
        try:
            answer = _exchange(
                server, {"cells": job.cells, "limit_seconds": job.limit_seconds, "environment": dict(job.environment)}
            )
        finally:
            self._idle.put(server)
        return JobRun(tuple(map(_cell_run, answer["cells"])), answer["ended"])


def _start_server() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", SERVER]
    environment = os.environ | ENVIRONMENT
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)


def _exchange(server: subprocess.Popen[str], request: dict[str, Any]) -> dict[str, Any]:
    assert server.stdin and server.stdout, "the server was started with pipes"
    try:
        print(json.dumps(request), file=server.stdin, flush=True)
        answer: dict[str, Any] = json.loads(server.stdout.readline())
    except (BrokenPipeError, json.JSONDecodeError):
        raise AuthoringError(f"{SERVER} ended with code {server.wait()}; its message is above.") from None
    if "fault" in answer:
        raise AuthoringError(f"A module of the grader cannot be imported: {answer['fault']}")
    return answer


def _preload_request(sources: Iterable[str]) -> dict[str, list[str]]:
    statements: list[str] = []
    roots: set[str] = set()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                statements.append(ast.unparse(node))
                names = (
                    [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
                )
                roots.update(name.split(".")[0] for name in names)
    is_heavy = bool(roots & HEAVY_SIGNS)
    modules, packages = (list(HEAVY_MODULES), list(GRADER_PACKAGES)) if is_heavy else ([], [])
    return {"modules": modules, "packages": packages, "statements": statements}


def _cell_run(answer: dict[str, Any]) -> CellRun:
    error = answer["error"] or {"name": "", "code": "", "look_at": "", "message": "", "lines": []}
    return CellRun(
        label=answer["label"],
        error_name=error["name"],
        code=error["code"],
        message="\n".join(error["lines"]) or error["message"],
        look_at=error["look_at"],
        stderr=answer["stderr"],
        seconds=answer["seconds"],
    )
