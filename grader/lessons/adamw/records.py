"""Records what a step of AdamW, written by hand, leaves in addition to the weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.meters.storages import tensors_in
from grader.observing.contract import fail
from grader.observing.step_records import StepRecord

Options = Mapping[str, Any]


class OwnStepRecord(StepRecord):
    """Notes the weights after each step, and what else a step has changed or keeps.

    Attributes:
        changed_options: The options of a group that a step has changed, in the order in which they were seen.
        is_gradient_gone: Whether a step took a gradient away.
        is_frozen: Whether a step left a parameter without `requires_grad`.
    """

    def __init__(self, weights: Sequence[Tensor]):
        super().__init__(weights)
        self.changed_options: list[str] = []
        self.is_gradient_gone = self.is_frozen = False

    def note_parameters(self, groups: Sequence[Options], wanted: Sequence[Options], kept: list[Tensor | None]) -> None:
        """Note what a step did to groups and parameters; `wanted` and `kept` are options and gradients before it."""
        for group, options in zip(groups, wanted, strict=True):
            changed = [name for name, value in options.items() if group.get(name) != value]
            self.changed_options += [name for name in changed if name not in self.changed_options]
        for weight, gradient in zip(self.weights, kept, strict=True):
            self.is_gradient_gone |= gradient is not None and weight.grad is None
            self.is_frozen |= not weight.requires_grad

    def facts(self, states: list[Any]) -> dict[str, Any]:
        """Return what the states hold, and what the steps have changed."""
        tensors = [{id(tensor): tensor for tensor in tensors_in(state)}.values() for state in states]
        return super().facts(states) | {
            "state_bytes": [sum(tensor.nbytes for tensor in own) for own in tensors],
            "state_entries": [len(state) for state in states],
            "changed_options": self.changed_options,
            "is_gradient_gone": self.is_gradient_gone,
            "is_frozen": self.is_frozen,
        }


def wide_moments(state: object, weight: Tensor) -> int:
    """Count the tensors of a state that have the shape of their weight, and another number format."""
    return sum(tensor.shape == weight.shape and tensor.dtype != weight.dtype for tensor in tensors_in(state))


@contextlib.contextmanager
def refuse_step_of_torch(instead: str, look_at: str) -> Iterator[None]:
    """Fail the check when the block calls the method `step` of PyTorch's Adam or AdamW on another optimizer.

    Args:
        instead: What is asked for, for the message.
        look_at: The diagnosis that the learner reads.
    """

    def refuse(*_: Any, **__: Any) -> None:
        fail("torch_step_called", instead, "a call of the step of a PyTorch optimizer", look_at)

    owners = [owner for owner in (torch.optim.Adam, torch.optim.AdamW) if "step" in vars(owner)]
    kept = [owner.step for owner in owners]
    for owner in owners:
        owner.step = refuse  # type: ignore[method-assign]
    try:
        yield
    finally:
        for owner, method in zip(owners, kept, strict=True):
            owner.step = method  # type: ignore[method-assign]
