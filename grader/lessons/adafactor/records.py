"""Records which optimizer updates a model, with which options of Adafactor, and how many numbers a state keeps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.meters.storages import leaves_in

OPTIONS = (
    "lr",
    "relative_step",
    "scale_parameter",
    "warmup_init",
    "beta1",
    "weight_decay",
    "clip_threshold",
    "decay_rate",
)


@contextlib.contextmanager
def record_adafactor(model: nn.Module) -> Iterator[list[dict[str, Any]]]:
    """Record every update of `model` while the block runs.

    Yields:
        For each step of an optimizer that holds a parameter of the model: "optimizer", its library and its class, such
        as "transformers.Adafactor"; "left_out", how many trained parameters it does not hold; and the `OPTIONS` of its
        first group that are numbers, truths or None.
    """
    updates: list[dict[str, Any]] = []

    def before_update(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        own = [id(parameter) for parameter in model.parameters() if parameter.requires_grad]
        if held & set(own):
            kind = type(optimizer)
            options = {
                name: _plain(optimizer.param_groups[0][name]) for name in OPTIONS if name in optimizer.param_groups[0]
            }
            name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
            updates.append({"optimizer": name, "left_out": len(set(own) - held)} | options)

    handle = register_optimizer_step_pre_hook(before_update)
    try:
        yield updates
    finally:
        handle.remove()


def kept_numbers(state: object) -> int:
    """Count the numbers that a state keeps, each tensor once: in tensors, in arrays, and by themselves or in lists."""
    leaves = list(leaves_in(state))
    sizes = {id(leaf): _size(leaf) for leaf in leaves if hasattr(leaf, "shape")}
    return sum(sizes.values()) + sum(isinstance(leaf, int | float) for leaf in leaves if not hasattr(leaf, "shape"))


def _size(leaf: Any) -> int:
    return torch.Size(leaf.shape).numel()


def _plain(value: Any) -> bool | float | None:
    if value is None or isinstance(value, bool):
        return value
    return float(value)
