"""What runs in each rank when a check trains a sharded model with Accelerate or with the Trainer.

Its imports are those that libraries put off until a name is first used. The process of the ranks imports this module
once, before it becomes them; else each rank would import them again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.state import AcceleratorState
from datasets import Dataset
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.optim.optimizer import register_optimizer_step_pre_hook
from transformers import BertForSequenceClassification, PreTrainedTokenizerFast, Trainer

from grader.lessons.sharding.forms import BLOCK, LEARNING_RATE, sharded_forms_cases
from grader.lessons.sharding.ranks import end_lonely_collectives, local, state_bytes_of
from grader.observing.library_calls import record_library_calls
from grader.observing.rank_records import plain
from grader.observing.recording import TrainingRecord
from grader.ranks.collectives import CollectiveLog
from grader.testbed.sharding_on_cpu import allow_sharding_on_cpu

FIRST_USED_HERE = (
    Accelerator,
    BertForSequenceClassification,
    Dataset,
    FullyShardedDataParallelPlugin,
    PreTrainedTokenizerFast,
    Trainer,
)


def observe_form(answer: Callable[..., Any], seed: int, number: int) -> dict[str, Any]:
    """Train one epoch in one form on this rank."""
    end_lonely_collectives()
    allow_sharding_on_cpu()
    case = sharded_forms_cases(seed)[number]
    model, dataset, record = case.make_model(), case.make_dataset(), TrainingRecord()
    with (
        CollectiveLog() as log,
        record_library_calls(record) as called,
        _watch_rows(model, record) as rows,
        _watch_steps(model, log) as steps,
    ):
        answer(model, dataset, case.batch, case.reshard, LEARNING_RATE)
    blocks = [one for one in model.modules() if type(one).__name__.removeprefix("FSDP") == BLOCK]
    facts = {
        "calls": [plain(log.events[first:end]) for first, end in zip([0, *steps.ends], steps.ends, strict=False)],
        "library": called,
        "precision": AcceleratorState._shared_state.get("_mixed_precision", "no"),
        "rows": rows,
        "is_root_sharded": isinstance(model, FSDPModule),
        "sharded_blocks": sum(isinstance(one, FSDPModule) for one in blocks),
        "own_bytes": sum(local(parameter).nbytes for parameter in model.parameters()),
        "state_bytes": state_bytes_of(steps.optimizers.values()),
        "optimizers": sorted({type(one).__name__ for one in steps.optimizers.values()}),
        "rates": sorted({float(group["lr"]) for one in steps.optimizers.values() for group in one.param_groups}),
    }
    return {"facts": facts, "tensors": {"first": steps.first, "last": steps.last}}


class _Steps:
    """The optimizers that stepped, where their steps are in the log, and this rank's first and last gradient."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.optimizers: dict[int, torch.optim.Optimizer] = {}
        self.first = self.last = torch.zeros(0)


@contextlib.contextmanager
def _watch_steps(model: nn.Module, log: CollectiveLog) -> Iterator[_Steps]:
    steps = _Steps()

    def before_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        grads: list[Tensor | None] = [parameter.grad for parameter in model.parameters()]
        steps.last = torch.cat([torch.zeros(0), *(local(one).flatten() for one in grads if one is not None)])
        if not steps.ends:
            steps.first = steps.last
        steps.optimizers[id(optimizer)] = optimizer
        steps.ends.append(len(log.events))

    hook = register_optimizer_step_pre_hook(before_step)
    try:
        yield steps
    finally:
        hook.remove()


@contextlib.contextmanager
def _watch_rows(model: nn.Module, record: TrainingRecord) -> Iterator[list[int]]:
    """Note the rows of each forward."""
    rows: list[int] = []

    def before_forward(_: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        inputs = arguments[0] if arguments else keywords.get("input_ids")
        rows.append(len(inputs) if isinstance(inputs, Tensor) else 0)
        record.forward_rows.append(rows[-1])

    hook = model.register_forward_pre_hook(before_forward, with_kwargs=True)
    try:
        yield rows
    finally:
        hook.remove()
