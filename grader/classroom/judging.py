"""Verdicts from outside: what a run has emitted goes to a judge, a process of its own without any learner's code."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode

from .claims import Claim, claims_fault
from .errors import ClassroomError
from .execution import OK, TAMPERED, UNDECIDED, CellRun, Execution
from .master import judged_check

VERDICT_SECONDS = 60
START_SECONDS = 120  # a cold import of everything from a slow disk
LARGEST_ANSWER = 2**20  # characters
PASSED = "passed"
LINES = (("expected", "expected"), ("measured", "measured"), ("look at", "look_at"))


class JudgeStopped(Exception):
    """A judge ended, or took too long, over one observation."""


class Judge:
    """A running judge; it keeps its references, so that the class computes each of them once."""

    def __init__(self) -> None:
        self._complaints = tempfile.TemporaryFile()
        package = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join(path for path in (package, os.environ.get("PYTHONPATH", "")) if path)
        settings = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "grader.judges"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, **settings},
            text=True,
            start_new_session=True,
        )
        self._seconds = START_SECONDS + VERDICT_SECONDS

    def ask(self, check: str, seed: int, observation: str) -> dict[str, Any]:
        """Return the judge's answer to one observation.

        Raises:
            JudgeStopped: if it gives none in time.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        request = json.dumps({"check": check, "seed": seed, "observation": observation})
        timer = threading.Timer(self._seconds, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline(LARGEST_ANSWER)
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line.endswith("\n"):
            raise JudgeStopped(self._last_words())
        self._seconds = VERDICT_SECONDS
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self._process.kill()
        self._process.wait()
        self._complaints.seek(0)
        return self._complaints.read().decode("utf-8", "replace").strip().rpartition("\n")[2]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._complaints):
            with contextlib.suppress(OSError):  # what was not sent is lost with it
                pipe.close()  # type: ignore[union-attr]  # both are pipes
        self._process.wait()


_idle: list[Judge] = []
_lock = threading.Lock()


@contextlib.contextmanager
def borrowed_judge() -> Iterator[Judge]:
    """Lend a judge that nobody else asks; there are as many as jobs that run at once."""
    with _lock:
        judge = _idle.pop() if _idle else None
    judge = judge or Judge()
    try:
        yield judge
    except BaseException:
        judge.close()
        raise
    with _lock:
        _idle.append(judge)


@atexit.register
def close_judges() -> None:
    """End the judges that stand idle."""
    with _lock:
        judges = list(_idle)
        _idle.clear()
    for judge in judges:
        judge.close()


def judge_execution(notebook: NotebookNode, execution: Execution, seed: int) -> Execution:
    """Have every check of the course that emitted an observation judged.

    Args:
        notebook: The notebook that was run, made of the master's cells.
        execution: What it did.
        seed: Seed of the cases, as the kernel had it.

    Returns:
        The same run with a verdict for each of these checks, told in the cell's outputs, and without observations.

    Raises:
        ClassroomError: if no judge can be started.
    """
    cells = dict(execution.cells)
    notes = list(execution.notes)
    for index, run in execution.cells.items():
        check = judged_check(notebook.cells[index]) if index < len(notebook.cells) else None
        if check is not None and run.state == OK and run.observations:
            run, more = _judged(check, run, seed)
            notes += [note for note in more if note not in notes]
        cells[index] = replace(run, observations=[], steps=None)
    return replace(execution, cells=cells, notes=tuple(notes))


def _judged(check: str, run: CellRun, seed: int) -> tuple[CellRun, list[str]]:
    """Return the run of one check with its verdict, and what the instructor may want to know."""
    if len(run.observations) > 1:
        return _told(run, _tampered(f"{len(run.observations)} observations from one check")), []
    answer = _ask(check, seed, run.observations[0])
    if "verdict" not in answer:
        verdict = _tampered(answer["malformed"]) if "malformed" in answer else _undecided(answer["failed"])
        return _told(run, verdict), []
    fault, notes = claims_fault([Claim(**claim) for claim in answer["claims"]], run.steps)
    verdict = {"outcome": "judged", **answer["verdict"]}
    if fault:
        verdict = _tampered(fault)
    elif verdict["code"] == PASSED and _control_passes(check, run, seed):
        verdict = _tampered("the check passes on the untouched exercise as well")
    return _told(run, verdict), [f"{check}: {note}" for note in notes]


def _control_passes(check: str, run: CellRun, seed: int) -> bool:
    """Whether the check, asked about the stub, neither failed nor emitted what a judge fails."""
    control = run.control
    if control is None or control["state"] != OK:
        return False
    answers = [_ask(check, seed, observation) for observation in control["observations"]]
    return all(answer.get("verdict", {}).get("code") == PASSED for answer in answers)


def _ask(check: str, seed: int, observation: str | None) -> dict[str, Any]:
    if observation is None:
        return {"malformed": "an observation that is too large, or no text"}
    try:
        with borrowed_judge() as judge:
            answer = judge.ask(check, seed, observation)
    except JudgeStopped as error:
        answer = {"failed": f"the judge took too long, or ended{f': {error}' if str(error) else ''}"}
    failure = answer.get("failed", "")
    if "ModuleNotFoundError" in failure:
        raise ClassroomError(
            f"The judge cannot be started: {failure}. Install what the course needs with "
            "`pip install 'lean-training[train]'`, then grade again."
        )
    return answer


def _tampered(reason: str) -> dict[str, Any]:
    return {"outcome": TAMPERED, "code": TAMPERED, "expected": "", "measured": reason, "look_at": ""}


def _undecided(reason: str) -> dict[str, Any]:
    return {"outcome": UNDECIDED, "code": UNDECIDED, "expected": "", "measured": reason, "look_at": ""}


def _told(run: CellRun, verdict: Mapping[str, Any]) -> CellRun:
    """Say the verdict where the observation stood, as a check in a notebook of one's own says it."""
    output: dict[str, Any]
    if verdict["outcome"] in (TAMPERED, UNDECIDED):
        line = "no verdict yet: a person looks at this check\n"
        output = {"output_type": "stream", "name": "stdout", "text": line}
    elif verdict["code"] == PASSED:
        output = {"output_type": "stream", "name": "stdout", "text": f"passed: {verdict['measured']}\n"}
    else:
        said = [f"{name:<10}{verdict[key]}" for name, key in LINES]
        value = f"[{verdict['code']}] {verdict['measured']}"
        output = {"output_type": "error", "ename": "CheckFailed", "evalue": value, "traceback": said}
    return replace(run, outputs=[*run.outputs, output], verdict=dict(verdict))
