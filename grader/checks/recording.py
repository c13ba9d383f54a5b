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
        gradients: The gradient right before each update, all parameters in one vector.
        weights: The weights right before each update and at the end, all parameters in one vector.
    """

    events: list[str] = field(default_factory=list)
    forward_rows: list[int] = field(default_factory=list)
    gradients: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """Return the counts and the order of events."""
        return {"events": self.events, "forward_rows": self.forward_rows}

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

    def after_forward(_: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any], __: Any) -> None:
        tensors = [value for value in (*arguments, *keywords.values()) if isinstance(value, Tensor) and value.dim()]
        record.events.append("forward")
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


@contextlib.contextmanager
def record_library_calls(record: TrainingRecord) -> Iterator[dict[str, list[Any]]]:
    """Record how Accelerate and the Trainer are used while the block runs.

    Args:
        record: The record of the model that is watched.

    Yields:
        "accumulate": gradient_accumulation_steps at each entry into `Accelerator.accumulate` outside the Trainer;
        "trainer": gradient_accumulation_steps of each `Trainer.train`;
        "forwards_in_trainer": forwards of the watched model in each `Trainer.train`.
    """
    from accelerate import Accelerator
    from transformers import PrinterCallback, Trainer

    calls: dict[str, list[Any]] = {"accumulate": [], "trainer": [], "forwards_in_trainer": []}
    accumulate, train = Accelerator.accumulate, Trainer.train
    is_in_trainer = False

    def recorded_accumulate(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if not is_in_trainer:
            calls["accumulate"].append(self.gradient_accumulation_steps)
        return accumulate(self, *arguments, **keywords)

    def recorded_train(self: Any, *arguments: Any, **keywords: Any) -> Any:
        nonlocal is_in_trainer
        calls["trainer"].append(self.args.gradient_accumulation_steps)
        self.remove_callback(PrinterCallback)  # a check prints one line, its own
        is_in_trainer, forwards_before = True, len(record.forward_rows)
        try:
            return train(self, *arguments, **keywords)
        finally:
            is_in_trainer = False
            calls["forwards_in_trainer"].append(len(record.forward_rows) - forwards_before)

    Accelerator.accumulate, Trainer.train = recorded_accumulate, recorded_train
    try:
        yield calls
    finally:
        Accelerator.accumulate, Trainer.train = accumulate, train
