"""Import everything once, and run each list of cells in a fork of this process.

Started as `python -m grader.authoring.fork_server`. It reads one JSON object a line and answers each with one line.
The first names the imports, each later one is a job. This process runs no tensor operation, so a fork has no threads
to lose.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import linecache
import os
import pathlib
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Iterator
from typing import Any, TextIO

READ_BYTES = 65536
ROOT = pathlib.Path(__file__).parents[2]
LESSONS = (f"{ROOT}/grader/lessons/", f"{ROOT}/grader/judging/lessons/")


def serve(requests: TextIO, answers: TextIO) -> None:
    """Import what the first request names, then run the jobs one after another."""
    first = requests.readline()
    if not first:  # the command ended before it asked for anything
        return
    try:
        with _quiet_stderr():
            _preload(json.loads(first))
    except Exception as error:  # a module that is at fault, as a table whose edit does not apply
        print(json.dumps({"fault": f"{type(error).__name__}: {error}{_place_of(error)}"}), file=answers, flush=True)
        return
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in requests:
        print(json.dumps(run_in_fork(json.loads(line))), file=answers, flush=True)


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Drop what libraries write to file descriptor 2 while they are imported; an exception still shows."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _preload(request: dict[str, Any]) -> None:
    """Import modules, then run a lesson's import statements; one that is not installed fails in the cell instead."""
    for name in [*request["modules"], *_grader_modules(request["packages"])]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for statement in request["statements"]:
        with contextlib.suppress(ImportError):
            exec(statement, {})
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _grader_modules(packages: list[str]) -> list[str]:
    """Name the modules of some packages of the grader, without importing them to find out."""
    root = ROOT / "grader"
    files = [file for package in packages for file in sorted((root / package).rglob("[!_]*.py"))]
    return [".".join(("grader", *file.relative_to(root).with_suffix("").parts)) for file in files]


def run_in_fork(job: dict[str, Any]) -> dict[str, Any]:
    """Run the cells of a job in a child, in an empty folder, under its time limit.

    Args:
        job: "cells", pairs of label and source; "environment", variables for them; "limit_seconds".

    Returns:
        "cells", the outcome of each cell that ended, and "ended": "done", "timeout" or "died".
    """
    folder = tempfile.mkdtemp(prefix="answer-")
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        os.environ.update(job["environment"])
        _run_child(job["cells"], folder, write_end)
    os.close(write_end)
    try:
        text, is_late = _read_until(read_end, time.monotonic() + job["limit_seconds"])
    finally:  # also if this process receives a signal to stop
        _end(child)
        os.close(read_end)
        shutil.rmtree(folder, ignore_errors=True)
    cells = [json.loads(line) for line in text.splitlines() if line.endswith(b"}")]
    ended = "done" if len(cells) == len(job["cells"]) else "timeout" if is_late else "died"
    return {"cells": cells, "ended": ended}


def _end(child: int) -> None:
    """End a child and the processes that its cells started."""
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            end(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _read_until(read_end: int, deadline: float) -> tuple[bytes, bool]:
    """Read a pipe to its end or to the deadline; say whether the deadline came first."""
    text = b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([read_end], [], [], left)[0]:
            chunk = os.read(read_end, READ_BYTES)
            if not chunk:
                return text, False
            text += chunk
    return text, True


def _run_child(cells: list[tuple[str, str]], folder: str, write_end: int) -> None:
    """Run the cells and end the child; nothing of the server's own runs after it."""
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        stderr_path = _redirect_streams(folder)
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        _offer_display(main)
        for label, source in cells:
            outcome = _run_cell(label, source, main.__dict__, stderr_path)
            os.write(write_end, json.dumps(outcome).encode() + b"\n")
    finally:
        os._exit(0)


def _redirect_streams(folder: str) -> str:
    """Send the child's input and output to files, at the level of file descriptors; return stderr's file."""
    stderr_path = os.path.join(folder, ".stderr")
    write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for descriptor, path, flags in ((0, os.devnull, os.O_RDONLY), (1, os.devnull, write), (2, stderr_path, write)):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # the server's own stdout carries its answers
    return stderr_path


def _offer_display(main: types.ModuleType) -> None:
    """Give cells the function `display`, as a notebook does."""
    with contextlib.suppress(ImportError):
        main.__dict__["display"] = importlib.import_module("IPython.display").display


def _run_cell(label: str, source: str, namespace: dict[str, Any], stderr_path: str) -> dict[str, Any]:
    filename = f"<{label}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)  # tracebacks and inspect.getsource see the cell
    stderr_start = os.path.getsize(stderr_path)
    start_seconds = time.monotonic()
    error: dict[str, Any] | None = None
    try:
        exec(compile(source, filename, "exec", dont_inherit=True), namespace)
    except BaseException as raised:  # a cell may raise SystemExit as well
        error = _described(raised)
    seconds = time.monotonic() - start_seconds
    sys.stdout.flush()
    with open(stderr_path, encoding="utf-8", errors="replace") as stderr:
        stderr.seek(stderr_start)
        return {"label": label, "error": error, "stderr": stderr.read(), "seconds": seconds}


def _described(raised: BaseException) -> dict[str, Any]:
    """Describe an exception; one of `grader.verdict` knows its code and its lines."""
    code = getattr(raised, "code", "")
    lines = getattr(raised, "lines", None)
    return {
        "name": type(raised).__name__,
        "code": code if isinstance(code, str) else "",
        "look_at": str(getattr(raised, "look_at", "")),
        "message": str(raised) + ("" if callable(lines) else _place_of(raised)),
        "lines": lines() if callable(lines) else [],
    }


def _place_of(raised: BaseException) -> str:
    """Return the last place in a lesson's checks and judges that an exception came through; "" if a cell raised it."""
    place = ""
    for frame in traceback.extract_tb(raised.__traceback__):
        if frame.filename.startswith("<") and not frame.filename.startswith("<frozen"):
            place = ""
        elif frame.filename.startswith(LESSONS):
            place = f" ({os.path.relpath(frame.filename, ROOT)}:{frame.lineno})"
    return place


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the command, which then sends SIGTERM
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # keeps what an import prints out of the answers
    serve(sys.stdin, answers)
