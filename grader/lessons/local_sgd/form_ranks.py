"""What runs in each rank when a check trains with Accelerate's LocalSGD.

Its imports are those that libraries put off until a name is first used. The process of the ranks imports this module
once, before it becomes them; else each rank would import them again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.local_sgd import LocalSGD
from datasets import Dataset
from torch.utils.data import TensorDataset

from grader.lessons.local_sgd.epoch_records import record_epoch
from grader.lessons.local_sgd.epochs import accelerated_cases
from grader.observing.library_calls import record_library_calls
from grader.observing.rank_records import watch_rows

LEARNING_RATE = 0.05
FIRST_USED_HERE = (Accelerator, LocalSGD, Dataset)


def observe_accelerated(answer: Callable[..., Any], seed: int, number: int) -> dict[str, Any]:
    """Train one epoch with Accelerate on this rank."""
    case = accelerated_cases(seed)[number]
    model, micro_batches = case.make_model(), case.make_micro_batches()
    dataset = TensorDataset(*(torch.cat(parts) for parts in zip(*micro_batches, strict=True)))
    with (
        record_epoch(model) as record,
        record_library_calls(record.training) as called,
        watch_local_sgd() as made,
        watch_rows(model, [inputs for inputs, _ in micro_batches]) as seen,
    ):
        answer(model, dataset, case.rows, case.k, case.every, LEARNING_RATE)
    return record.report(seen=seen, library=called, local_sgd=made)


@contextlib.contextmanager
def watch_local_sgd() -> Iterator[list[list[Any]]]:
    """Note for each LocalSGD its steps between two averages, whether it is enabled, and how often step() is called."""
    made: list[list[Any]] = []
    numbers: dict[int, int] = {}
    initialise, step = LocalSGD.__init__, LocalSGD.step

    def noted(self: LocalSGD, *arguments: Any, **keywords: Any) -> None:
        initialise(self, *arguments, **keywords)
        numbers[id(self)] = len(made)
        made.append([int(getattr(self, "local_sgd_steps", 0)), bool(self.enabled), 0])

    def counted(self: LocalSGD) -> None:
        made[numbers[id(self)]][2] += 1
        step(self)

    LocalSGD.__init__, LocalSGD.step = noted, counted
    try:
        yield made
    finally:
        LocalSGD.__init__, LocalSGD.step = initialise, step
