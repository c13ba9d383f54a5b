"""What runs on each rank: a learner's attention over a sequence that the ranks share."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.lessons.model_and_pipeline_parallel.call_log import CallLog
from grader.lessons.model_and_pipeline_parallel.contexts import context_cases
from grader.ranks.messages import Messages

RECEIVE_SECONDS = 6.0


def observe_contexts(rank: int, world_size: int, answer: Callable[..., Any], seed: int) -> list[dict[str, Any]]:
    """Attend over each sequence of this number of ranks."""
    messages, reports = Messages(RECEIVE_SECONDS), []
    for case in context_cases(seed):
        if case.world_size != world_size:
            continue
        given = case.make_shares(rank)
        held: list[int] = []
        storages: list[weakref.ref[torch.UntypedStorage]] = []
        with CallLog() as log:

            def send(tensor: Tensor, destination: int, log: CallLog = log) -> None:
                with log.paused():
                    messages.send(tensor, destination)

            def receive(source: int, log: CallLog = log, held: Any = held, storages: Any = storages) -> Tensor:
                with log.paused():
                    received = messages.receive(source)
                storages.append(weakref.ref(received.untyped_storage()))
                held.append(sum(storage.nbytes() for one in storages if (storage := one()) is not None))
                return received

            output = answer(*given, rank, world_size, send, receive)
        traffic = messages.settle()
        facts = {
            "sent": [[peer, size] for kind, peer, size in traffic.events if kind == "send"],
            "unread": traffic.unread_messages,
            "calls": sorted({name for name, _, _ in log.events}),
            "largest": log.largest,
            "held": max(held, default=0),
        }
        found = output.detach() if isinstance(output, Tensor) else None
        reports.append({"facts": facts, "tensors": {} if found is None else {"output": found}})
    return reports
