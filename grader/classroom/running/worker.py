"""Run one notebook as a process: read a job from stdin, write one line of JSON per cell to stdout.

It is a process of its own, so that a notebook which kills its parent ends this run and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# jsonschema compiles a grammar of web addresses when it finds this package: two seconds that no notebook needs.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None makes an import fail

import nbformat  # noqa: E402
from jupyter_client.manager import AsyncKernelManager  # noqa: E402
from nbformat.notebooknode import NotebookNode  # noqa: E402

from grader.channel import KERNEL, STEPS_VARIABLE  # noqa: E402
from grader.classroom.handed_in.alignment import STUB  # noqa: E402
from grader.classroom.lesson.master import checks_of, judged_check, needs_loopback  # noqa: E402
from grader.registry import home_of  # noqa: E402

from .execution import CHANGED, DIED, FINISHED, OK, STUCK, TIMEOUT  # noqa: E402
from .notebook_client import CappedClient, plain_outputs  # noqa: E402
from .step_signals import StepSignals  # noqa: E402
from .tampering import (  # noqa: E402
    canary_returns,
    changed_hooks,
    hook_notes,
    probe_hooks,
    probe_originals,
    replaced_evidence,
    replaced_originals,
    replaced_transforms,
    run_control,
    support_digests,
)
from .worker_memory import bound_memory, free_memory  # noqa: E402

LATE_DEATH_SECONDS = 0.05  # a killed parent takes its kernel with it after the cell has answered
MOST_DEATHS = 3  # of kernels, before the rest of a notebook is given up
# `quit()` ends a learner's session; in grading it must not end the kernel before the checks. Nobody answers `input()`.
# The kernel introduces itself to who watches its steps, and reads its settings, before any code of the learner's runs.
PREAMBLE = f"""\
get_ipython().ask_exit = lambda: None
get_ipython().kernel.raw_input = lambda prompt="": print(prompt) or ""
(lambda os: "{STEPS_VARIABLE}" in os.environ and os.write(
    int(os.environ["{STEPS_VARIABLE}"]), {KERNEL!r}
))(__import__("os"))
try:
    __import__("grader.channel").channel.settle_kernel()
except ImportError:
    pass
"""
Emit = Callable[[dict[str, Any]], None]


class NotebookRun:
    """One run of one notebook, cell by cell, within its limits."""

    def __init__(self, job: dict[str, Any], emit: Emit):
        self.emit = emit
        self.folder = str(job["folder"])
        self.cell_seconds = int(job["cell_seconds"])
        self.notebook_seconds = int(job["notebook_seconds"])
        self.has_loopback = bool(job["has_loopback"])
        self.deadline = 0.0
        self.signals = StepSignals.open()
        self.hooks: dict[str, str] = {}
        self.changed: set[str] = set()  # hooks, at any time that they were looked at
        self.originals: dict[str, str] = {}
        self.support = support_digests(Path(self.folder))
        self.requests: dict[int, str] = {}  # of graded cells, by their place
        self.client = CappedClient(
            nbformat.reads(job["notebook"], as_version=4),
            kernel_name=job["kernel"],
            kernel_manager_class=AsyncKernelManager,
            timeout_func=self.seconds_left,
        )
        cells = self.client.nb.cells
        stubs = {_grade_id(cell): cell.metadata.get(STUB, "") for cell in cells}
        self.homes = {name: home_of(name) for cell in cells if (name := judged_check(cell))}
        self.controls = {check.name: (check, stubs.get(check.exercise, "")) for check in checks_of(self.client.nb)}

    def seconds_left(self, cell: NotebookNode) -> int:
        """Return the limit of the next cell: its own, or what the notebook has left."""
        return max(1, min(self.cell_seconds, int(self.deadline - time.monotonic())))

    async def run(self) -> None:
        """Run the cells until the end, the death of the kernel, or the end of the time."""
        launch: dict[str, Any] = {"cwd": self.folder}
        if self.signals is not None:
            self.signals.listen()
            os.environ[STEPS_VARIABLE] = str(self.signals.theirs.fileno())
            launch["pass_fds"] = (self.signals.theirs.fileno(),)
        async with self.client.async_setup_kernel(**launch):
            self.deadline = time.monotonic() + self.notebook_seconds
            await self._greet_kernel()
            end, reason = await self._run_cells()
            if self.signals is not None:
                self.signals.take()
            if end == FINISHED:
                self.emit({"replaced": await self._compare_hooks()})
            else:
                with contextlib.suppress(Exception):
                    await self.client.km.shutdown_kernel(now=True)
        for note in hook_notes(self.changed):
            self.emit({"note": note})
        self.emit({"doubled": [at for at, request in self.requests.items() if self.client.was_answered_twice(request)]})
        self.emit({"end": end, "reason": reason, "peak_bytes": self.signals.most_bytes if self.signals else None})

    async def _greet_kernel(self) -> None:
        self.emit({"started": getattr(self.client.km.provisioner, "pid", None) or 0})
        if self.signals is not None:
            self.signals.await_kernel()
        await self.client.async_wait_for_reply(self.client.kc.execute(PREAMBLE, silent=True))
        if self.signals is not None:
            self.signals.end_introduction()
        bound_memory()
        self.originals = await probe_originals(self.client, self.homes)
        self.hooks = await probe_hooks(self.client)

    async def _compare_hooks(self) -> list[str]:
        """Return what checks in the kernel rest on and the notebook has replaced by now."""
        after = await probe_hooks(self.client)
        self.changed |= changed_hooks(self.hooks, after)
        return replaced_evidence(self.hooks, after, self.support)

    async def _run_cells(self) -> tuple[str, str]:
        """Run every cell; return how that ended, and the deaths on the way."""
        good: list[NotebookNode] = []
        deaths: list[str] = []
        for index, cell in enumerate(list(self.client.nb.cells)):
            if cell.cell_type != "code" or not cell.source.strip() or (needs_loopback(cell) and not self.has_loopback):
                continue
            if time.monotonic() >= self.deadline:
                deaths.append(f"all cells together took longer than {self.notebook_seconds} s, before {_place(cell)}")
                return TIMEOUT, "; ".join(deaths)
            state = await self._run_one(cell, index)
            if state == STUCK:
                deaths.append(f"{_place(cell)} took longer than {self.cell_seconds} s and could not be interrupted")
            elif state == DIED:
                reason = getattr(self.client.km.provisioner, "end_reason", "") or self.client.fault
                deaths.append(f"the kernel died in {_place(cell)}" + (f": {reason}" if reason else ""))
            elif state == OK and not _is_graded(cell):
                good.append(cell)
            if state in (STUCK, DIED) and not await self._start_afresh(good, len(deaths)):
                return TIMEOUT if state == STUCK else DIED, "; ".join(deaths)
        return FINISHED, "; ".join(deaths)

    async def _run_one(self, cell: NotebookNode, index: int) -> str:
        """Run one cell, emit what it did, and return the state of the kernel after it."""
        started = time.monotonic()
        replaced = await self._replaced_before(cell) if _is_graded(cell) else []
        is_canary_back = replaced is not None
        if self.signals is not None:
            self.signals.take()
        self.client.is_observed = _is_graded(cell)
        state = await self.client.run_cell(cell, index)
        report: dict[str, Any] = {"index": index, "seconds": round(time.monotonic() - started, 3)}
        report["outputs"] = plain_outputs(cell)
        if _is_graded(cell):
            report["replaced"] = replaced or []
            report["observations"] = list(self.client.observations)
            report["steps"] = self.signals.take() if self.signals is not None else None
            self.requests[index] = self.client.request
        after = state
        if state == OK and is_canary_back:
            report["control"] = await self._control(cell)
            after = str((report["control"] or {}).get("state", OK))
        report["state"] = CHANGED if state == OK and not is_canary_back else TIMEOUT if state == STUCK else state
        self.emit({"cell": report})
        return after if after in (STUCK, DIED) else state

    async def _replaced_before(self, cell: NotebookNode) -> list[str] | None:
        """Return what a check rests on and the notebook replaced before it; None if the kernel gives no answer."""
        name = judged_check(cell)
        if name is not None:
            replaced = await replaced_originals(self.client, self.originals, name, self.homes[name])
            return None if replaced is None else replaced + await replaced_transforms(self.client, self.hooks)
        return await self._compare_hooks() if await canary_returns(self.client) else None

    async def _control(self, cell: NotebookNode) -> dict[str, Any] | None:
        """Ask a check that seems to pass about the untouched exercise."""
        check, stub = self.controls.get(_grade_id(cell), (None, ""))
        if check is None or check.is_manual or not stub or (check.is_judged and not self.client.observations):
            return None
        return await run_control(self.client, cell, check.exercise, stub)

    async def _start_afresh(self, good: list[NotebookNode], deaths: int) -> bool:
        """Start a new kernel and run the good cells again; one that ends it now is no longer good.

        Returns:
            Whether there is a kernel for the rest of the notebook.
        """
        while deaths <= MOST_DEATHS:
            free_memory()
            await self.client.km.restart_kernel(now=True)
            await self.client.kc.wait_for_ready(timeout=self.client.startup_timeout)
            await self._greet_kernel()
            for cell in good:
                if not await self._survives(cell):
                    good.remove(cell)
                    deaths += 1
                    break
            else:
                return True
        return False

    async def _survives(self, cell: NotebookNode) -> bool:
        """Run a cell again and say whether the kernel lives on, also a moment later."""
        state, _ = await self.client.run_source(cell.source)
        if state in (DIED, STUCK):
            return False
        await asyncio.sleep(LATE_DEATH_SECONDS)
        return bool(await self.client.km.is_alive())


def _grade_id(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def _is_graded(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


def _place(cell: NotebookNode) -> str:
    name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
    if name and not name.startswith("given_"):
        return f"the cell of {name}"
    return "a cell of the learner's own" if str(cell.get("id", "")).startswith("own-") else "a cell of the lesson"


def run_forked(*, ready: Callable[[], None]) -> None:
    """Run as a process that a fork server has forked."""
    ready()
    main()


def main() -> None:
    """Read the job, run it, write the lines."""
    # The kernel inherits stdout. Its lines must not mix with ours, so ours go to a descriptor that it does not inherit.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def emit(message: dict[str, Any]) -> None:
        lines.write(json.dumps(message) + "\n")
        lines.flush()

    job = json.load(sys.stdin)
    os.chdir(job["folder"])
    asyncio.run(NotebookRun(job, emit).run())


if __name__ == "__main__":
    main()
