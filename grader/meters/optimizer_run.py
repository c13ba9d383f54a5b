"""Measures one training run by its optimizers, whoever makes them: a loop, Accelerate or the Trainer."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from grader.meters.storages import distinct_storage_bytes, optimizer_state_tensors


@dataclass(frozen=True)
class OptimizerRun:
    """What the optimizers of one run did.

    Attributes:
        steps: How many steps they took.
        state_bytes: Bytes of their state after the last step, each storage once.
        step_seconds: Median time from one step to the next, so without any set-up.
    """

    steps: int
    state_bytes: int
    step_seconds: float


def measure_optimizer_run(train: Callable[[nn.Module], object], model: nn.Module) -> OptimizerRun:
    """Train a model, and measure its optimizers in whatever form they are used.

    Args:
        train: Trains the model; it takes two updates or more.
        model: The model; optimizers that hold none of its parameters do not count.

    Returns:
        Steps, bytes of state, and the time of an update.

    Raises:
        ValueError: if there are fewer than two updates.
    """
    own = {id(parameter) for parameter in model.parameters()}
    optimizers: list[torch.optim.Optimizer] = []
    ends: list[float] = []

    def after_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if own & {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}:
            if not any(optimizer is known for known in optimizers):
                optimizers.append(optimizer)
            ends.append(time.perf_counter())

    handle = register_optimizer_step_post_hook(after_step)
    try:
        train(model)
    finally:
        handle.remove()
    if len(ends) < 2:
        raise ValueError(f"{len(ends)} updates of this model; its step time needs two")
    gaps = [later - earlier for earlier, later in itertools.pairwise(ends)]
    state = distinct_storage_bytes(tensor for optimizer in optimizers for tensor in optimizer_state_tensors(optimizer))
    return OptimizerRun(len(ends), state, statistics.median(gaps))
