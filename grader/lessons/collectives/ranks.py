"""What runs on each rank: a learner's collective on several cases, and a note of what it returned and sent."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from grader.ranks.collectives import NO_PEER, CollectiveLog
from grader.ranks.messages import Messages

RECEIVE_SECONDS = 8.0
SENT_NOTHING = "had sent nothing"
NOT_REDUCING = {
    "send": "send",
    "recv_": "recv",
    "recv_any_source_": "recv",
    "barrier": "barrier",
    "monitored_barrier_": "barrier",
}


def reduce_cases(collective: Callable[..., Any], tensors: list[Tensor]) -> list[Any]:
    """Call a collective once for each case.

    Args:
        collective: The learner's function.
        tensors: For each case the tensor of this rank.

    Returns:
        For each case "returned", None where it is no tensor; "type"; "is_input_kept"; "events", "unread_messages" and
        "collectives" of this rank, the library's own messages among them; "first_numbers", of each message that it
        sent by `send`.
    """
    messages, seen = Messages(RECEIVE_SECONDS), []
    for given in tensors:
        tensor = given.clone()
        first_numbers: list[float | None] = []
        with LibraryLog() as log:
            value = _call(collective, tensor, messages, first_numbers, log)
        traffic = messages.settle()
        facts = {
            "returned": value if isinstance(value, Tensor) else None,
            "type": type(value).__name__,
            "is_input_kept": torch.equal(tensor, given),
            "events": [list(event) for event in traffic.events],
            "unread_messages": traffic.unread_messages,
            "collectives": sorted({name for name, _, _ in log.events}),
            "first_numbers": first_numbers,
        }
        seen.append(facts)
    return seen


def _call(
    collective: Callable[..., Any], tensor: Tensor, messages: Messages, sent: list[float | None], log: LibraryLog
) -> Any:
    def send(tensor: Tensor, destination: int) -> None:
        with log.paused():
            messages.send(tensor, destination)
        first = float(tensor.flatten()[0]) if tensor.numel() else None
        sent.append(first if first is not None and math.isfinite(first) else None)

    def receive(source: int) -> Tensor:
        with log.paused():
            return messages.receive(source)

    try:
        return collective(tensor, messages.rank, messages.world_size, send, receive)
    except (TimeoutError, ConnectionError) as error:
        if not sent:
            error.args = (f"{error}, and rank {messages.rank} {SENT_NOTHING}",)
        raise


class LibraryLog(CollectiveLog):  # type: ignore[no-untyped-call]
    """Logs what a rank asks of torch.distributed: collective operations, and messages by `dist.send` and its kin."""

    def __init__(self) -> None:
        super().__init__()
        self._is_paused = False

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Log nothing inside the block: the lesson's own `send` and `receive` are made of such messages."""
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = False

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        """Run an operator, and log it where it communicates."""
        name = NOT_REDUCING.get(function._overloadpacket.__name__) if function.namespace == "c10d" else None
        if name and not self._is_paused:
            self.events.append((name, NO_PEER, 0))
        return super().__torch_dispatch__(function, types, arguments, options)


class _OtherRankMissing(BaseException):
    """Ends a call that asks for a rank that is not there; no `except` of a learner's takes it for an error."""


def refuse_ranks(rank: int, world_size: int, collective: Callable[..., Any], tensor: Tensor) -> dict[str, Any]:
    """Call a collective where it has to raise a ValueError, before it sends anything.

    Nothing is really sent: a rank that refuses and ends would leave the others waiting. `receive` returns at once what
    this rank began with.

    Args:
        rank: This rank.
        world_size: How many ranks.
        collective: The learner's function.
        tensor: The tensor of this rank.

    Returns:
        "error", the name of the exception or ""; "messages", how many it sent or received before; "named", the number
        that it took for another rank's, though there is no such rank, None where there is none.
    """
    facts: dict[str, Any] = {"error": "", "messages": 0, "named": None}

    def reach(other: int) -> None:
        if other not in range(world_size) or other == rank:
            facts["named"] = other if isinstance(other, int) else None
            raise _OtherRankMissing
        facts["messages"] += 1

    def receive(source: int) -> Tensor:
        reach(source)
        return tensor.clone()

    def send(tensor: Tensor, destination: int) -> None:
        reach(destination)

    try:
        collective(tensor.clone(), rank, world_size, send, receive)
    except _OtherRankMissing:
        pass
    except Exception as error:
        facts["error"] = type(error).__name__
    return facts
