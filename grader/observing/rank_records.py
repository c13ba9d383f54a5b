"""Records what one rank of a run does: its training with the collectives of each update, its rows, its calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.observing.recording import TrainingRecord, record_training
from grader.ranks.collectives import CollectiveLog
from grader.ranks.traffic import Event


def plain(events: Sequence[Event]) -> list[list[Any]]:
    """Return each collective as its name and its bytes."""
    return [[name, byte_count] for name, _, byte_count in events]


def named_tensors(record: TrainingRecord) -> dict[str, Tensor]:
    """Return gradients and weights of a record, "gradient.0" the first."""
    return {name.removeprefix("rank."): value for name, value in record.tensors("rank").items()}


@contextlib.contextmanager
def record_rank_training(model: nn.Module) -> Iterator[tuple[TrainingRecord, list[list[list[Any]]]]]:
    """Record the training of a rank's model, and the collectives before each of its updates and after the last one.

    Args:
        model: The module itself, also where a wrapper is what the learner calls.

    Yields:
        The record, and a list that holds, once the block has ended, one list of collectives for each of these parts.
    """
    calls: list[list[list[Any]]] = []
    ends: list[int] = []
    with CollectiveLog() as log, record_training(model) as record:

        def before_update(optimizer: torch.optim.Optimizer, *_: Any) -> None:
            if _holds(optimizer, model):
                ends.append(len(log.events))

        hook = register_optimizer_step_pre_hook(before_update)
        try:
            yield record, calls
        finally:
            hook.remove()
    calls += [plain(log.events[first:end]) for first, end in zip([0, *ends], [*ends, len(log.events)], strict=True)]


def _holds(optimizer: torch.optim.Optimizer, model: nn.Module) -> bool:
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    return any(id(parameter) in held for parameter in model.parameters())


@contextlib.contextmanager
def watch_steps(optimizer: torch.optim.Optimizer) -> Iterator[list[bool]]:
    """Note for each step of any optimizer whether it is that of the given one."""
    steps: list[bool] = []
    hook = register_optimizer_step_pre_hook(lambda stepping, *_: steps.append(stepping is optimizer))
    try:
        yield steps
    finally:
        hook.remove()


@contextlib.contextmanager
def watch_rows(model: nn.Module, known: Sequence[Tensor]) -> Iterator[list[list[int]]]:
    """Note for each forward which of the known inputs it was given; -1 for one that is not known.

    Args:
        model: Called with its inputs first, or as `input_ids` with one known row for each of its rows.
        known: Inputs of a micro-batch each, or single rows.
    """
    seen: list[list[int]] = []

    def before_forward(_: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        inputs = arguments[0] if arguments else keywords.get("input_ids")
        if not isinstance(inputs, Tensor):
            inputs = torch.zeros(0)
        rows = [inputs] if inputs.shape == known[0].shape else list(inputs)
        seen.append([next((i for i, one in enumerate(known) if torch.equal(one, row)), -1) for row in rows])

    hook = model.register_forward_pre_hook(before_forward, with_kwargs=True)
    try:
        yield seen
    finally:
        hook.remove()


@contextlib.contextmanager
def watch_no_sync(model: DistributedDataParallel) -> Iterator[dict[str, Any]]:
    """Note how often no_sync was called and entered, and of each forward whether it was to be synchronised."""
    facts: dict[str, Any] = {"no_sync_called": 0, "no_sync_entered": 0, "is_synchronised": []}
    method = model.no_sync

    @contextlib.contextmanager
    def entered() -> Iterator[None]:
        facts["no_sync_entered"] += 1
        with method():
            yield

    def no_sync() -> Any:
        facts["no_sync_called"] += 1
        return entered()

    def before_forward(*_: Any) -> None:
        facts["is_synchronised"].append(bool(model.require_backward_grad_sync))

    model.no_sync = no_sync  # type: ignore[method-assign]
    hook = model.register_forward_pre_hook(before_forward)
    try:
        yield facts
    finally:
        hook.remove()
        del model.no_sync


@contextlib.contextmanager
def watch_ddp() -> Iterator[list[nn.Module]]:
    """Note each DistributedDataParallel that is made."""
    made: list[nn.Module] = []
    method = DistributedDataParallel.__init__

    def noted(self: DistributedDataParallel, *arguments: Any, **keywords: Any) -> None:
        made.append(self)
        method(self, *arguments, **keywords)

    DistributedDataParallel.__init__ = noted  # type: ignore[method-assign]
    try:
        yield made
    finally:
        DistributedDataParallel.__init__ = method  # type: ignore[method-assign]


class _Deferred:
    """An asynchronous all-reduce that begins when it is waited for: one that nobody waits for changes nothing."""

    def __init__(self, start: Callable[[], Any]):
        self._start = start
        self.is_waited = False

    def wait(self, *_: Any) -> bool:
        """Run it."""
        if not self.is_waited:
            self.is_waited = True
            self._start()
        return True

    def is_completed(self) -> bool:
        """Whether it was waited for."""
        return self.is_waited


@contextlib.contextmanager
def defer_asynchronous_calls() -> Iterator[list[_Deferred]]:
    """Make every asynchronous all-reduce run when it is waited for, so that a missing wait always shows."""
    waiting: list[_Deferred] = []
    function = dist.all_reduce

    def all_reduce(tensor: Tensor, op: Any = dist.ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
        if not async_op:
            return function(tensor, op, group)
        waiting.append(_Deferred(lambda: function(tensor, op, group)))
        return waiting[-1]

    dist.all_reduce = all_reduce
    try:
        yield waiting
    finally:
        dist.all_reduce = function
