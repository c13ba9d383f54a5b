"""Records the weights after each step of an optimizer, and what its state holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.device import lesson_device
from grader.observation import Observation
from grader.observing.optimizer_records import state_elements
from grader.testbed.optimizer_steps import UpdateCase


class StepRecord:
    """Notes the weights after each step, and whether a step changed a gradient."""

    def __init__(self, weights: Sequence[Tensor]):
        self.weights = weights
        self.rows_of: list[list[Tensor]] = [[] for _ in weights]
        self.is_changed = [False] * len(weights)

    def note(self, gradients: list[Tensor | None], kept: list[Tensor | None]) -> None:
        """Note the weights after a step; `kept` are copies of the gradients from before it."""
        for index, (weight, gradient, old) in enumerate(zip(self.weights, gradients, kept, strict=True)):
            self.rows_of[index].append(weight.detach().flatten().cpu().clone())
            if gradient is not None and old is not None:
                self.is_changed[index] |= not torch.equal(gradient, old)

    def facts(self, states: list[Any]) -> dict[str, Any]:
        """Return what the states hold, and which gradients were changed."""
        return {"state_elements": [state_elements(s) for s in states], "is_gradient_changed": self.is_changed}

    def rows(self) -> list[Tensor]:
        """Return the weights of each tensor, [steps, numbers]."""
        return [torch.stack(rows) for rows in self.rows_of]


def observe_steps(observe: Callable[[UpdateCase], Any], cases: tuple[UpdateCase, ...]) -> Observation:
    """Run every case, and put together what was seen.

    Args:
        observe: Takes a case; returns its facts and the weights of each tensor, [steps, numbers].
        cases: The cases.
    """
    settings = []
    tensors: dict[str, Tensor] = {}
    for number, case in enumerate(cases):
        facts, rows = observe(case)
        settings.append(facts)
        tensors |= {f"{number}.{index}": row for index, row in enumerate(rows)}
    return Observation({"settings": settings}, tensors)


def on_device(gradients: list[Tensor | None]) -> list[Tensor | None]:
    """Move gradients to the lesson's device."""
    return [None if gradient is None else gradient.to(lesson_device()) for gradient in gradients]


def copies(gradients: list[Tensor | None]) -> list[Tensor | None]:
    """Copy gradients."""
    return [None if gradient is None else gradient.clone() for gradient in gradients]
