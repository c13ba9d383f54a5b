"""Records an epoch of one rank: its training, its running statistics, and the places of its collectives."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.observing.rank_records import named_tensors
from grader.observing.recording import TrainingRecord, record_training
from grader.ranks.collectives import CollectiveLog


class PlacedLog(CollectiveLog):  # type: ignore[no-untyped-call]
    """A log of collectives that also notes where in a training each of them comes.

    Args:
        record: The training.

    `placed` holds for each collective its name, its bytes, and the forwards and updates before it.
    """

    def __init__(self, record: TrainingRecord) -> None:
        super().__init__()
        self._record = record
        self.placed: list[list[Any]] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        """Run an operator, and log it where it is a collective one."""
        known = len(self.events)
        result = super().__torch_dispatch__(function, types, arguments, options)
        for name, _, byte_count in self.events[known:]:
            place = [len(self._record.forward_rows), len(self._record.weights)]
            self.placed.append([name, byte_count, *place])
        return result


class EpochRecord:
    """What one rank did in one epoch.

    Attributes:
        training: Forwards, backwards, updates, with gradients and weights.
        calls: For each collective its name, its bytes, and the forwards and updates before it.
    """

    def __init__(self, training: TrainingRecord, calls: list[list[Any]]):
        self.training = training
        self.calls = calls
        self.statistics = torch.zeros(0)
        self.counts: list[int] = []

    def report(self, **more: Any) -> dict[str, Any]:
        """Return facts and tensors for an observation; "statistics" are the buffers with fractions at the end."""
        facts = self.training.facts() | {"calls": self.calls, "counts": self.counts} | more
        return {"facts": facts, "tensors": named_tensors(self.training) | {"statistics": self.statistics}}


@contextlib.contextmanager
def record_epoch(model: nn.Module) -> Iterator[EpochRecord]:
    """Record the training of a rank's model while the block runs.

    Args:
        model: The module itself, also where a wrapper is what the learner calls.
    """
    with record_training(model) as training, PlacedLog(training) as log:
        record = EpochRecord(training, log.placed)
        yield record
    record.statistics = flat_statistics(model)
    record.counts = [int(value) for one in model.buffers() if not one.is_floating_point() for value in one.flatten()]


def flat_statistics(model: nn.Module) -> Tensor:
    """Return all buffers with fractions in one vector."""
    parts = [one.detach().flatten().float() for one in model.buffers() if one.is_floating_point()]
    return torch.cat([torch.zeros(0), *parts])


@contextlib.contextmanager
def count_steps() -> Iterator[list[int]]:
    """Count the steps of every optimizer, in a list of one number."""
    steps = [0]

    def before(*_: Any) -> None:
        steps[0] += 1

    hook = register_optimizer_step_pre_hook(before)
    try:
        yield steps
    finally:
        hook.remove()


@contextlib.contextmanager
def count_barriers() -> Iterator[list[int]]:
    """Count the calls of torch.distributed.barrier, in a list of one number."""
    calls, function = [0], dist.barrier

    def barrier(*arguments: Any, **keywords: Any) -> Any:
        calls[0] += 1
        return function(*arguments, **keywords)

    dist.barrier = barrier
    try:
        yield calls
    finally:
        dist.barrier = function
