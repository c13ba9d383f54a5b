"""What runs on each rank: a learner's schedule on one stage, with a record of what it ran, held, sent and received."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.lessons.model_and_pipeline_parallel.call_log import CallLog
from grader.lessons.model_and_pipeline_parallel.pipelines import pipeline_cases
from grader.ranks.messages import Messages

RECEIVE_SECONDS = 6.0
FORWARD, BACKWARD, SEND, RECEIVE = "forward", "backward", "send", "receive"
PASSES = (FORWARD, BACKWARD)
OUT_OF_RANGE = "the stage was called more often than there are micro-batches"


class _Saved:
    """A tensor that autograd keeps for the backward of a micro-batch."""

    def __init__(self, tensor: Tensor, number: int, stage: Stage):
        self.tensor, self.number, self._stage = tensor, number, stage
        stage.alive[number] += 1

    def __del__(self) -> None:
        """Count it as freed."""
        self._stage.alive[self.number] -= 1


class Stage(nn.Module):
    """The layers of one rank; notes each forward and backward, and how many micro-batches are held.

    Attributes:
        alive: Of each micro-batch how many tensors autograd keeps.
        most: The most micro-batches that were held at once.
        kept: The most micro-batches whose backward was over, and whose input or output still existed.
        weights_kept: Whether the weights were as given at each forward and backward.
        events: What happened, with the micro-batch or the other rank, and bytes.
    """

    def __init__(self, layers: nn.Sequential, micro_batches: int, is_first: bool):
        super().__init__()
        self.layers = layers
        self._micro_batches, self._is_first = micro_batches, is_first
        self._count, self.most, self.events = 0, 0, list[list[Any]]()
        self.alive: Counter[int] = Counter()
        self._begun: set[int] = set()
        self.weights_kept, self._weights = True, [one.detach().clone() for one in layers.parameters()]
        self.kept, self._tensors = 0, list[tuple[int, weakref.ref[Tensor]]]()

    def forward(self, hidden: Tensor) -> Tensor:
        """Run the layers on hidden [rows, features]."""
        number, self._count = self._count, self._count + 1
        if number >= self._micro_batches:
            raise RuntimeError(OUT_OF_RANGE)
        self.note([FORWARD, number, len(hidden)])
        self._compare_weights()
        with torch.autograd.graph.saved_tensors_hooks(lambda one: _Saved(one.detach(), number, self), self._unpack):
            output: Tensor = self.layers(hidden)
        self.most = max(self.most, sum(count > 0 for count in self.alive.values()))
        passed_on = (output,) if self._is_first else (hidden, output)
        self._tensors += [(number, weakref.ref(one)) for one in passed_on]
        return output

    def note(self, event: list[Any]) -> None:
        """Note what happens, and how many finished micro-batches are kept."""
        self.events.append(event)
        self.kept = max(
            self.kept, len({number for number, one in self._tensors if number in self._begun and one() is not None})
        )

    def _compare_weights(self) -> None:
        self.weights_kept &= all(map(torch.equal, self._weights, self.layers.parameters()))

    def _unpack(self, saved: _Saved) -> Tensor:
        if saved.number not in self._begun:
            self._begun.add(saved.number)
            self.events.append([BACKWARD, saved.number, 0])
            self._compare_weights()
        return saved.tensor


def observe_pipelines(rank: int, world_size: int, answer: Callable[..., Any], seed: int) -> list[dict[str, Any]]:
    """Train one step of each model of this number of ranks."""
    messages, reports = Messages(RECEIVE_SECONDS), []
    for case in pipeline_cases(seed):
        if case.world_size != world_size:
            continue
        stage = Stage(case.make_layers(rank), case.micro_batches, rank == 0)
        inputs = case.make_inputs() if rank == 0 else None
        targets = case.make_targets() if rank == world_size - 1 else None
        with CallLog() as log:
            send, receive = _noting(messages, stage, log)
            answer(stage, inputs, targets, case.micro_batches, rank, world_size, send, receive)
        traffic = messages.settle()
        gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in stage.layers.parameters()]
        facts = {
            "events": stage.events,
            "most": stage.most,
            "kept": stage.kept,
            "weights_kept": stage.weights_kept,
            "unread": traffic.unread_messages,
            "calls": sorted({name for name, _, _ in log.events}),
            "without_gradient": sum(one.grad is None for one in stage.layers.parameters()),
        }
        reports.append({"facts": facts, "tensors": {"gradient": torch.cat([one.flatten() for one in gradients])}})
    return reports


def _noting(
    messages: Messages, stage: Stage, log: CallLog
) -> tuple[Callable[[Tensor, int], None], Callable[[int], Tensor]]:
    """Return `send` and `receive`, which note each message in the list of events before they begin."""

    def send(tensor: Tensor, destination: int) -> None:
        stage.note([SEND, destination, tensor.nbytes if isinstance(tensor, Tensor) else 0])
        with log.paused():
            messages.send(tensor, destination)

    def receive(source: int) -> Tensor:
        stage.note([RECEIVE, source, 0])
        try:
            with log.paused():
                return messages.receive(source)
        except (TimeoutError, ConnectionError) as error:
            order = " ".join(f"{kind[0].upper()}{number}" for kind, number, _ in stage.events if kind in PASSES)
            raise type(error)(f"{error}, after {f'the passes {order}' if order else 'no pass'}") from None

    return send, receive
