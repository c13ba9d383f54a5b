"""Records which optimizer updates a model, and with which options for each parameter."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.meters.storages import tensors_in


@contextlib.contextmanager
def record_options(model: nn.Module) -> Iterator[list[dict[str, Any]]]:
    """Record the options of every update of `model` while the block runs.

    Yields:
        For each step of an optimizer that holds a parameter of the model: "optimizer", the name of its class; "decays"
        and "rates", weight decay and learning rate of each parameter in the model's order. The decay is None for a
        parameter that the optimizer does not hold; its rate is left out.
    """
    updates: list[dict[str, Any]] = []

    def before_update(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        groups = {id(parameter): group for group in optimizer.param_groups for parameter in group["params"]}
        own = [groups.get(id(parameter)) for parameter in model.parameters()]
        if any(own):
            decays = [None if group is None else float(group.get("weight_decay", 0.0)) for group in own]
            rates = [float(group["lr"]) for group in own if group is not None]
            updates.append({"optimizer": type(optimizer).__name__, "decays": decays, "rates": rates})

    handle = register_optimizer_step_pre_hook(before_update)
    try:
        yield updates
    finally:
        handle.remove()


def state_elements(state: object) -> int:
    """Count the numbers in the tensors of a state, each tensor once."""
    return sum({id(tensor): tensor.numel() for tensor in tensors_in(state)}.values())
