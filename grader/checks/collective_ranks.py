"""What runs on each rank: a learner's collective on several cases, and a note of what it returned and sent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.ranks.collectives import CollectiveLog
from grader.ranks.messages import Messages

RECEIVE_SECONDS = 8.0
SENT_NOTHING = "had sent nothing"


def reduce_cases(rank: int, world_size: int, collective: Callable[..., Any], inputs: list[Tensor]) -> list[Any]:
    """Call a collective once for each case.

    Args:
        rank: This rank.
        world_size: How many ranks.
        collective: The learner's function.
        inputs: For each case the tensors of all ranks, [ranks, ...].

    Returns:
        For each case "returned", None where it is no tensor; "type"; "is_input_kept"; "events", "unread_messages" and
        "collectives" of this rank; "first_numbers", of each message that it sent.
    """
    messages, seen = Messages(RECEIVE_SECONDS), []
    for tensors in inputs:
        tensor = tensors[rank].clone()
        first_numbers: list[float | None] = []
        with CollectiveLog() as log:
            value = _call(collective, tensor, messages, first_numbers)
        traffic = messages.settle()
        facts = {
            "returned": value if isinstance(value, Tensor) else None,
            "type": type(value).__name__,
            "is_input_kept": torch.equal(tensor, tensors[rank]),
            "events": [list(event) for event in traffic.events],
            "unread_messages": traffic.unread_messages,
            "collectives": sorted({name for name, _, _ in log.events}),
            "first_numbers": first_numbers,
        }
        seen.append(facts)
    return seen


def _call(collective: Callable[..., Any], tensor: Tensor, messages: Messages, sent: list[float | None]) -> Any:
    def send(value: Tensor, destination: int) -> None:
        messages.send(value, destination)
        first = float(value.flatten()[0]) if value.numel() else None
        sent.append(first if first is not None and math.isfinite(first) else None)

    try:
        return collective(tensor, messages.rank, messages.world_size, send, messages.receive)
    except (TimeoutError, ConnectionError) as error:
        if not sent:
            error.args = (f"{error}, and rank {messages.rank} {SENT_NOTHING}",)
        raise


def refuse_ranks(rank: int, world_size: int, collective: Callable[..., Any], tensors: Tensor) -> dict[str, Any]:
    """Call a collective where it has to raise a ValueError, before it sends anything.

    Args:
        rank: This rank.
        world_size: How many ranks.
        collective: The learner's function.
        tensors: The tensors of all ranks, [ranks, ...].

    Returns:
        "error", the name of the exception or ""; "sent_messages".
    """
    messages, name = Messages(RECEIVE_SECONDS), ""
    try:
        collective(tensors[rank].clone(), rank, world_size, messages.send, messages.receive)
    except ValueError as error:
        name = type(error).__name__
    return {"error": name, "sent_messages": messages.settle().sent_messages}
