"""Records what a learner's training loop does: forwards, backwards, updates."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook


@dataclass
class TrainingRecord:
    """What one training loop did, in order.

    Attributes:
        events: "forward", "backward" or "update" in the order in which they ended.
        forward_rows: Rows that each forward saw.
        is_training: Whether the model and all of its modules were in train mode in each forward.
        is_autocast: Whether each forward ran under autocast.
        gradients: The gradient right before each update, all parameters in one vector.
        weights: The weights right before each update and at the end, all parameters in one vector.
    """

    events: list[str] = field(default_factory=list)
    forward_rows: list[int] = field(default_factory=list)
    is_training: list[bool] = field(default_factory=list)
    is_autocast: list[bool] = field(default_factory=list)
    gradients: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """Return the order of events, and what each forward was like."""
        modes = {"is_training": self.is_training, "is_autocast": self.is_autocast}
        return {"events": self.events, "forward_rows": self.forward_rows, **modes}

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """Return gradients and weights, by name."""
        gradients = {f"{prefix}.gradient.{index}": value for index, value in enumerate(self.gradients)}
        return gradients | {f"{prefix}.weights.{index}": value for index, value in enumerate(self.weights)}


def flat_weights(model: nn.Module) -> Tensor:
    """Return all parameters in one vector, in the order of `model.parameters()`."""
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def flat_gradient(model: nn.Module) -> Tensor:
    """Return all gradients in one vector; a parameter without one counts as zero."""
    return torch.cat(
        [
            (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad).detach().flatten()
            for parameter in model.parameters()
        ]
    )


@contextlib.contextmanager
def record_training(model: nn.Module) -> Iterator[TrainingRecord]:
    """Record the forwards and backwards of `model` and the updates of its weights, while the block runs.

    A backward is seen when the gradient of the last parameter is written, an update when any optimizer that holds a
    parameter of the model takes a step: the learner, Accelerate or the Trainer may have made it.

    Args:
        model: Called with tensors whose first dimension is rows, by position or by keyword.
    """
    record = TrainingRecord()
    parameters = {id(parameter) for parameter in model.parameters()}
    last = [parameter for parameter in model.parameters() if parameter.requires_grad][-1]

    def after_forward(module: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any], __: Any) -> None:
        if module is not model:  # a deep copy keeps the hooks of its original
            return
        tensors = [value for value in (*arguments, *keywords.values()) if isinstance(value, Tensor) and value.dim()]
        record.events.append("forward")
        record.is_training.append(all(part.training for part in module.modules()))
        record.is_autocast.append(torch.is_autocast_enabled(last.device.type))
        record.forward_rows.append(tensors[0].shape[0] if tensors else 0)

    def after_backward(_: Tensor) -> None:
        record.events.append("backward")

    def before_update(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        if held & parameters:
            record.events.append("update")
            record.gradients.append(flat_gradient(model))
            record.weights.append(flat_weights(model))

    handles = [
        model.register_forward_hook(after_forward, with_kwargs=True),
        last.register_post_accumulate_grad_hook(after_backward),  # type: ignore[no-untyped-call]
        register_optimizer_step_pre_hook(before_update),
    ]
    try:
        yield record
    finally:
        for handle in handles:
            handle.remove()
    record.weights.append(flat_weights(model))
