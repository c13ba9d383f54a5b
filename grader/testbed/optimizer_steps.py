"""Weights and gradients that an optimizer written by hand takes steps on, shared by the lessons on optimizers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

STEPS = 20


HALVED_AT = 12  # from this step on, counted from 1, the learning rates are half


@dataclass(frozen=True)
class UpdateCase:
    """Tensors with a gradient for each of 20 steps; the gradients do not depend on the weights.

    Attributes:
        shapes: The tensors.
        groups: The group of each tensor.
        learning_rates: Of each group.
        decays: Weight decay of each group.
        betas: Decay rates of both moments.
        eps: Added to the denominator.
        gradient_size: Standard deviation of a gradient's numbers.
        first_steps: For tensors that get no gradient at first, the first step with one, counted from 1.
        is_halved: Whether the learning rates are halved on the way.
        seed: Seed of weights and gradients.
    """

    shapes: tuple[tuple[int, ...], ...]
    groups: tuple[int, ...]
    learning_rates: tuple[float, ...]
    decays: tuple[float, ...]
    betas: tuple[float, float]
    eps: float
    gradient_size: float
    first_steps: Mapping[int, int]
    is_halved: bool
    seed: int

    def make_weights(self) -> list[Tensor]:
        """Draw the tensors at the start."""
        generator = torch.Generator().manual_seed(self.seed)
        return [torch.randn(shape, generator=generator) for shape in self.shapes]

    def gradients(self, step: int) -> list[Tensor | None]:
        """Draw the gradients of a step, counted from 1; some numbers of the first tensor's are always zero."""
        generator = torch.Generator().manual_seed(1000 * self.seed + step)
        drawn: list[Tensor | None] = []
        for index, shape in enumerate(self.shapes):
            gradient = self.gradient_size * (torch.randn(shape, generator=generator) + 0.5)
            if index == 0:
                gradient[0] = 0.0  # a row of an embedding that no token asked for
            drawn.append(gradient if step >= self.first_steps.get(index, 1) else None)
        return drawn

    def learning_rate(self, group: int, step: int) -> float:
        """Return the learning rate of a group at a step, counted from 1."""
        return self.learning_rates[group] / (2 if self.is_halved and step >= HALVED_AT else 1)

    def options(self, group: int, step: int) -> dict[str, Any]:
        """Return the options of a group at a step, counted from 1, as PyTorch's optimizers name them."""
        rate, decay = self.learning_rate(group, step), self.decays[group]
        return {"lr": rate, "betas": self.betas, "eps": self.eps, "weight_decay": decay}

    def members(self, group: int) -> list[int]:
        """Return the numbers of the tensors of a group."""
        return [index for index, own in enumerate(self.groups) if own == group]

    def describe(self, index: int, step: int = 1) -> str:
        """Name a tensor and its options at a step, counted from 1."""
        options = self.options(self.groups[index], step)
        shape = " x ".join(map(str, self.shapes[index]))
        betas = " and ".join(f"{beta:.4g}" for beta in options["betas"])
        decay = f", weight_decay {options['weight_decay']:g}" if any(self.decays) else ""
        return f"{shape} numbers, lr {options['lr']:g}, betas {betas}, eps {options['eps']:g}{decay}"
