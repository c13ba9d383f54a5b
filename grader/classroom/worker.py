"""The process that runs one notebook: a job on stdin, one line of JSON per cell on stdout.

It is a process of its own, so that a notebook which kills its parent ends this run and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import sys
import time
from collections.abc import Callable
from queue import Empty
from typing import Any

# jsonschema compiles a grammar of web addresses when it finds this package: two seconds that no notebook needs.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None makes an import fail

import nbformat  # noqa: E402
from jupyter_client.manager import AsyncKernelManager  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbclient.exceptions import CellTimeoutError, DeadKernelError  # noqa: E402
from nbformat.notebooknode import NotebookNode  # noqa: E402

from grader.units import MIB  # noqa: E402

from .execution import CHANGED, DIED, ERROR, FINISHED, OK, TIMEOUT  # noqa: E402

CELL_OUTPUT_BYTES = MIB
NOTEBOOK_OUTPUT_BYTES = 16 * MIB
OUTPUT_MESSAGES = {"stream", "display_data", "execute_result", "update_display_data", "error"}
TIMEOUT_NAME = "CellTimeoutError"
HEARING_SECONDS = 0.1
LATE_DEATH_SECONDS = 0.05  # a killed parent takes its kernel with it after the cell has answered
MOST_DEATHS = 3  # of kernels, before the rest of a notebook is given up
# `quit()` ends a learner's session; in grading it must not end the kernel before the checks.
PREAMBLE = "get_ipython().ask_exit = lambda: None"
TIMED_OUT = "lean_training_timed_out"  # only in the reply that nbclient makes up itself
Emit = Callable[[dict[str, Any]], None]


class CappedClient(NotebookClient):  # type: ignore[misc]  # nbclient has no types
    """A notebook client that drops outputs beyond a cap, before they fill the memory."""

    notebook_output_bytes = 0
    cell_output_bytes = 0

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> NotebookNode | None:
        """Drop an output message beyond the caps; handle the others as nbclient does."""
        if msg["msg_type"] in OUTPUT_MESSAGES and msg["msg_type"] != "error":
            output_bytes = len(json.dumps(msg["content"], default=str))
            self.cell_output_bytes += output_bytes
            self.notebook_output_bytes += output_bytes
            if self.cell_output_bytes > CELL_OUTPUT_BYTES or self.notebook_output_bytes > NOTEBOOK_OUTPUT_BYTES:
                return None
        return super().process_message(msg, cell, cell_index)

    async def async_start_new_kernel_client(self) -> Any:
        """Connect to the kernel; one that was forked listens already, so no time is spent on asking again."""
        if not getattr(self.km.provisioner, "listens", False):
            return await super().async_start_new_kernel_client()
        self.kc = self.km.client()
        self.kc.start_channels()
        await asyncio.wait_for(_hears_kernel(self.kc), self.startup_timeout)
        self.kc.allow_stdin = False
        return self.kc


async def _hears_kernel(client: Any) -> None:
    """Wait until what the kernel publishes arrives: a subscription takes effect a moment after it was made."""
    while True:
        request = client.kernel_info()
        with contextlib.suppress(Empty):
            while True:
                message = await client.get_iopub_msg(timeout=HEARING_SECONDS)
                is_idle = message["content"].get("execution_state") == "idle"
                if is_idle and message["parent_header"].get("msg_id") == request:
                    return


class NotebookRun:
    """One run of one notebook, cell by cell, within its limits."""

    def __init__(self, job: dict[str, Any], emit: Emit):
        self.emit = emit
        self.folder = str(job["folder"])
        self.cell_seconds = int(job["cell_seconds"])
        self.notebook_seconds = int(job["notebook_seconds"])
        self.deadline = 0.0
        self.reply: dict[str, Any] = {}
        self.client = CappedClient(
            nbformat.reads(job["notebook"], as_version=4),
            kernel_name=job["kernel"],
            kernel_manager_class=AsyncKernelManager,
            timeout_func=self.seconds_left,
            interrupt_on_timeout=True,
            error_on_timeout={"ename": TIMEOUT_NAME, "evalue": "", "traceback": [], TIMED_OUT: True},
            raise_on_iopub_timeout=True,
            iopub_timeout=5,
            allow_errors=True,
            skip_cells_with_tag=secrets.token_hex(),  # no tag of a notebook's makes a cell pass unseen
            store_widget_state=False,
            record_timing=False,
            shutdown_kernel="immediate",
            startup_timeout=60,
            on_cell_executed=self.keep_reply,
        )

    def seconds_left(self, cell: NotebookNode) -> int:
        """Return the limit of the next cell: its own, or what the notebook has left."""
        return max(1, min(self.cell_seconds, int(self.deadline - time.monotonic())))

    def keep_reply(self, cell: NotebookNode, cell_index: int, execute_reply: dict[str, Any]) -> None:
        """Remember the kernel's answer, which says how the cell ended whatever its outputs show."""
        self.reply = execute_reply["content"]

    async def run(self) -> None:
        """Run the cells until the end, the death of the kernel, or the end of the time."""
        async with self.client.async_setup_kernel(cwd=self.folder):
            await self._greet_kernel()
            self.deadline = time.monotonic() + self.notebook_seconds
            end, reason = await self._run_cells()
            if end != FINISHED:
                with contextlib.suppress(Exception):
                    await self.client.km.shutdown_kernel(now=True)
        self.emit({"end": end, "reason": reason})

    async def _greet_kernel(self) -> None:
        self.emit({"started": getattr(self.client.km.provisioner, "pid", None) or 0})
        await self.client.async_wait_for_reply(self.client.kc.execute(PREAMBLE, silent=True))

    async def _run_cells(self) -> tuple[str, str]:
        """Run every cell; return how that ended, and the deaths on the way."""
        good: list[NotebookNode] = []
        deaths: list[str] = []
        for index, cell in enumerate(list(self.client.nb.cells)):
            if cell.cell_type != "code" or not cell.source.strip():
                continue
            if time.monotonic() >= self.deadline:
                deaths.append(f"all cells together took longer than {self.notebook_seconds} s, before {_place(cell)}")
                return TIMEOUT, "; ".join(deaths)
            started = time.monotonic()
            is_canary_back = await self._canary_returns(cell)
            state = await self._run_cell(cell, index)
            state = state if is_canary_back or state != OK else CHANGED
            seconds = round(time.monotonic() - started, 3)
            outputs = json.loads(json.dumps(cell.outputs))
            is_stuck = state == "stuck"
            state = TIMEOUT if is_stuck else state
            self.emit({"cell": {"index": index, "state": state, "seconds": seconds, "outputs": outputs}})
            if is_stuck:
                deaths.append(f"{_place(cell)} took longer than {self.cell_seconds} s and could not be interrupted")
            elif state == DIED:
                reason = getattr(self.client.km.provisioner, "end_reason", "")
                deaths.append(f"the kernel died in {_place(cell)}" + (f": {reason}" if reason else ""))
            elif state == OK and not _is_graded(cell):
                good.append(cell)
            if (is_stuck or state == DIED) and not await self._start_afresh(good, len(deaths)):
                return TIMEOUT if is_stuck else DIED, "; ".join(deaths)
        return FINISHED, "; ".join(deaths)

    async def _start_afresh(self, good: list[NotebookNode], deaths: int) -> bool:
        """Start a new kernel and run the good cells again; one that ends it now is no longer good.

        Returns:
            Whether a kernel stands for the rest of the notebook.
        """
        while deaths <= MOST_DEATHS:
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
        copied = nbformat.v4.new_code_cell(cell.source)
        self.client.nb.cells.append(copied)
        if await self._run_cell(copied, len(self.client.nb.cells) - 1) in (DIED, "stuck"):
            return False
        await asyncio.sleep(LATE_DEATH_SECONDS)
        return bool(await self.client.km.is_alive())

    async def _canary_returns(self, cell: NotebookNode) -> bool:
        """Whether the kernel still runs what it is sent: a random line is printed before each graded cell."""
        if not _is_graded(cell):
            return True
        token = secrets.token_hex()
        canary = nbformat.v4.new_code_cell(f"print('{token}')")
        self.client.nb.cells.append(canary)
        state = await self._run_cell(canary, len(self.client.nb.cells) - 1)
        return state != OK or any(token in output.get("text", "") for output in canary.outputs)

    async def _run_cell(self, cell: NotebookNode, index: int) -> str:
        self.reply = {}
        self.client.cell_output_bytes = 0
        try:
            await self.client.async_execute_cell(cell, index)
        except DeadKernelError:
            return DIED
        except CellTimeoutError:
            return "stuck"
        if self.reply.get(TIMED_OUT):
            return TIMEOUT
        if self.reply.get("status") != "ok":
            _keep_error(cell, self.reply)
            return ERROR
        return ERROR if any(output.output_type == "error" for output in cell.outputs) else OK


def _keep_error(cell: NotebookNode, reply: dict[str, Any]) -> None:
    """Show the error of the reply where the learner's code kept it from the outputs."""
    if not any(output.output_type == "error" for output in cell.outputs):
        name, value = str(reply.get("ename", "Error")), str(reply.get("evalue", ""))
        output = nbformat.v4.new_output("error", ename=name, evalue=value, traceback=[f"{name}: {value}"])
        cell.outputs.append(output)


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
