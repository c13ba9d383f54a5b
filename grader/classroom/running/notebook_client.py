"""Run the cells of a notebook: cap their outputs, take observations out of them, and report how each cell ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from queue import Empty
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.notebooknode import NotebookNode

from grader.channel import LARGEST_OBSERVATION_BYTES, MEDIA_TYPE
from grader.units import MIB

from .execution import DIED, ERROR, OK, STUCK, TIMEOUT

CELL_OUTPUT_BYTES = MIB
NOTEBOOK_OUTPUT_BYTES = 16 * MIB
RESULT_BYTES, MOST_RESULTS = 10_000, 100  # of results of a cell that are kept whatever else it shows
NOTEBOOK_OBSERVATION_BYTES = 4 * LARGEST_OBSERVATION_BYTES
OUTPUT_MESSAGES = {"stream", "display_data", "execute_result", "update_display_data", "error"}
TIMEOUT_NAME = "CellTimeoutError"
TIMED_OUT = "lean_training_timed_out"  # only in the reply that nbclient makes up itself
HEARING_SECONDS = 0.1

SETTINGS = {
    "interrupt_on_timeout": True,
    "error_on_timeout": {"ename": TIMEOUT_NAME, "evalue": "", "traceback": [], TIMED_OUT: True},
    "raise_on_iopub_timeout": True,
    "iopub_timeout": 5,
    "allow_errors": True,
    "store_widget_state": False,
    "record_timing": False,
    "shutdown_kernel": "immediate",
    "startup_timeout": 60,
}


class CappedClient(NotebookClient):  # type: ignore[misc]  # nbclient has no types
    """A notebook client that drops outputs beyond a cap, before they fill the memory."""

    notebook_output_bytes = 0
    cell_output_bytes = 0
    notebook_observation_bytes = 0
    cell_results = 0
    is_own = False  # whether the cell is the worker's, and no part of the notebook
    is_observed = False  # whether what the next cells emit is kept for a judge

    def __init__(self, nb: NotebookNode, **settings: Any):
        # No tag of a notebook can skip a cell.
        super().__init__(nb, skip_cells_with_tag=secrets.token_hex(), **SETTINGS, **settings)
        self.on_cell_executed = self._keep_reply
        self.fault = ""  # of the messages of a kernel that is given up
        self.reply: dict[str, Any] = {}
        self.reply_header: dict[str, Any] = {}
        self.observations: list[str | None] = []
        self._requests: set[str] = set()
        self._answers: Counter[tuple[str, str]] = Counter()

    def _keep_reply(self, cell: NotebookNode, cell_index: int, execute_reply: dict[str, Any]) -> None:
        """Remember the kernel's answer, which says how the cell ended whatever its outputs show."""
        self.reply, self.reply_header = execute_reply["content"], execute_reply.get("parent_header", {})

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> NotebookNode | None:
        """Take an observation, drop an output beyond the caps; handle the others as nbclient does."""
        if msg["msg_type"] in OUTPUT_MESSAGES and not _is_output(msg["msg_type"], msg["content"]):
            return None
        if msg["msg_type"] in OUTPUT_MESSAGES and MEDIA_TYPE in (msg["content"].get("data") or ()):
            if self.is_observed:
                self._keep_observation(msg["content"]["data"][MEDIA_TYPE])
            return None
        if msg["msg_type"] in OUTPUT_MESSAGES and msg["msg_type"] != "error":
            output_bytes = len(json.dumps(msg["content"], default=str))
            if not self._has_room(msg["msg_type"], output_bytes):
                return None
        try:
            return super().process_message(msg, cell, cell_index)
        except (KeyError, TypeError, ValueError, AttributeError):  # a message that no kernel sends
            return None

    def _has_room(self, kind: str, output_bytes: int) -> bool:
        """Count an output, and say whether it is kept. What learners print takes no room from checks and their results.

        A graded cell, and one of the worker's own, has the cap of a cell alone.
        """
        if kind == "execute_result" and output_bytes <= RESULT_BYTES and self.cell_results < MOST_RESULTS:
            self.cell_results += 1
            return True
        self.cell_output_bytes += output_bytes
        is_kept = self.cell_output_bytes <= CELL_OUTPUT_BYTES
        if self.is_observed or self.is_own:
            return is_kept
        self.notebook_output_bytes += output_bytes
        return is_kept and self.notebook_output_bytes <= NOTEBOOK_OUTPUT_BYTES

    def _keep_observation(self, content: Any) -> None:
        """Keep a text within the caps; of anything else only that it was there."""
        is_kept = isinstance(content, str) and len(content) <= LARGEST_OBSERVATION_BYTES
        if is_kept:
            self.notebook_observation_bytes += len(content)
            is_kept = self.notebook_observation_bytes <= NOTEBOOK_OBSERVATION_BYTES
        if len(self.observations) < 3:  # one is right, and two show that there are too many
            self.observations.append(content if is_kept else None)

    async def async_start_new_kernel_client(self) -> Any:
        """Connect to the kernel; one that was forked listens already, so no time is spent on asking again."""
        if not getattr(self.km.provisioner, "listens", False):
            await super().async_start_new_kernel_client()
        else:
            self.kc = self.km.client()
            self.kc.start_channels()
            await asyncio.wait_for(_hears_kernel(self.kc), self.startup_timeout)
            self.kc.allow_stdin = False
        self._remember_requests()
        for channel in (self.kc.iopub_channel, self.kc.shell_channel):
            self._count(channel)
        return self.kc

    def _remember_requests(self) -> None:
        execute = self.kc.execute

        def execute_and_remember(*arguments: Any, **settings: Any) -> str:
            request = str(execute(*arguments, **settings))
            self._requests.add(request)
            return request

        self.kc.execute = execute_and_remember

    def _count(self, channel: Any) -> None:
        """Count what a channel brings of each request's end, also where it comes too late to be read."""
        receive = channel.get_msg

        async def receive_and_count(*arguments: Any, **settings: Any) -> Any:
            message = await _well_formed(receive, arguments, settings)
            kind = message["msg_type"]
            ends = kind == "execute_reply" or message["content"].get("execution_state") == "idle"
            request = str(message["parent_header"].get("msg_id"))
            if ends and request in self._requests:  # others would fill the memory
                self._answers[request, kind] += 1
            return message

        channel.get_msg = receive_and_count

    @property
    def request(self) -> str:
        """The last cell's request, "" if the kernel never replied."""
        return str(self.reply_header.get("msg_id", ""))

    def was_answered_twice(self, request: str) -> bool:
        """Return whether a request ended more than once: a kernel ends each once, so code in it spoke in its name."""
        return any(self._answers[request, kind] > 1 for kind in ("execute_reply", "status"))

    async def run_cell(self, cell: NotebookNode, index: int) -> str:
        """Run one cell of the notebook and say how it ended."""
        self.reply, self.reply_header, self.observations = {}, {}, []
        self.cell_output_bytes = self.cell_results = 0
        try:
            await self.async_execute_cell(cell, index)
        except DeadKernelError:
            return DIED
        except CellTimeoutError:
            return STUCK
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.fault = f"its messages could not be read ({type(error).__name__})"
            return DIED
        if self.reply.get(TIMED_OUT):
            return TIMEOUT
        if self.reply.get("status") != "ok":
            _keep_error(cell, self.reply)
            return ERROR
        return ERROR if any(output.output_type == "error" for output in cell.outputs) else OK

    async def run_source(self, source: str) -> tuple[str, NotebookNode]:
        """Run code that is no part of the notebook; return how it ended, and the cell with its outputs."""
        cell = nbformat.v4.new_code_cell(source)
        self.nb.cells.append(cell)
        self.is_own = True
        try:
            return await self.run_cell(cell, len(self.nb.cells) - 1), cell
        finally:
            self.is_own = False
            self.nb.cells.pop()


async def _well_formed(
    receive: Callable[..., Awaitable[Any]], arguments: Sequence[Any], settings: Mapping[str, Any]
) -> Any:
    """Return the next message that a kernel could have sent; the learner's code may send any other one in its name."""
    while True:
        try:
            message = await receive(*arguments, **settings)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):  # no message of the protocol at all
            continue
        parts = [message.get(name) for name in ("header", "parent_header", "content")]
        is_reply = message.get("msg_type") == "execute_reply"
        if all(isinstance(part, dict) for part in parts) and isinstance(message.get("msg_type"), str):
            if not is_reply or message["content"].get("status") in ("ok", "error", "aborted"):
                return message


def _is_output(kind: str, content: dict[str, Any]) -> bool:
    """Return whether the content of a message is an output that a notebook can hold."""
    if kind == "stream":
        return content.get("name") in ("stdout", "stderr") and isinstance(content.get("text"), str)
    if kind == "error":
        lines = content.get("traceback")
        texts = [content.get("ename"), content.get("evalue"), *(lines if isinstance(lines, list) else [None])]
        return all(isinstance(text, str) for text in texts)
    data, metadata, transient = (content.get(name, {}) for name in ("data", "metadata", "transient"))
    is_plain = all(isinstance(part, dict) for part in (data, metadata, transient or {}))
    return is_plain and all(isinstance(value, str) or "json" in kind for kind, value in data.items())


def plain_outputs(cell: NotebookNode) -> list[dict[str, Any]]:
    """Return the outputs of a cell as plain data that can be written: no half of a character."""
    text = json.dumps(cell.outputs, ensure_ascii=False, default=str)
    outputs: list[dict[str, Any]] = json.loads(text.encode("utf-8", "replace"))
    return outputs


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


def printed_text(cell: NotebookNode) -> str:
    """Return what a cell printed on stdout."""
    return "".join(str(output.get("text", "")) for output in cell.outputs if output.get("name") == "stdout")


def _keep_error(cell: NotebookNode, reply: dict[str, Any]) -> None:
    """Show the error of the reply where the learner's code kept it from the outputs."""
    if not any(output.output_type == "error" for output in cell.outputs):
        name, value = str(reply.get("ename", "Error")), str(reply.get("evalue", ""))
        output = nbformat.v4.new_output("error", ename=name, evalue=value, traceback=[f"{name}: {value}"])
        cell.outputs.append(output)
