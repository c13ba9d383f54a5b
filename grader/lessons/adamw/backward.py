"""Models that are updated during their backward pass."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.testbed.chain import make_chain


class TiedModel(nn.Module):
    """Two modules that share one matrix, and a frozen one before them."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.frozen = nn.Linear(width, width)
        self.frozen.requires_grad_(False)
        self.first = nn.Linear(width, hidden)
        self.second, self.third = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.third.weight = self.second.weight
        self.shift = nn.Parameter(torch.zeros(hidden))

    def forward(self, inputs: Tensor) -> Tensor:
        """Map [rows, width] to [rows, hidden]."""
        hidden = F.gelu(self.first(self.frozen(inputs)))  # [rows, hidden]
        outputs: Tensor = self.third(F.gelu(self.second(hidden)))
        return outputs + self.shift


@dataclass(frozen=True)
class BackwardCase:
    """A small model with some batches for it.

    Attributes:
        width: Features of a row.
        hidden: Features inside.
        batches: How many batches follow each other.
        is_tied: Whether two layers share a matrix, with a frozen layer before them; else a chain of three blocks.
        learning_rate: Of the optimizer.
        momentum: Of the optimizer.
        seed: Seed of model and batches.
    """

    width: int
    hidden: int
    batches: int
    is_tied: bool
    learning_rate: float
    momentum: float
    seed: int

    def make_model(self) -> nn.Module:
        """Build the model."""
        if not self.is_tied:
            return make_chain(3, self.width, self.hidden, seed=self.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return TiedModel(self.width, self.hidden)

    def make_batches(self) -> list[Tensor]:
        """Draw inputs [8, width]."""
        generator = torch.Generator().manual_seed(self.seed)
        return [torch.randn(8, self.width, generator=generator) for _ in range(self.batches)]

    @staticmethod
    def loss(outputs: Tensor) -> Tensor:
        """Return the sum of squares: its gradients have norms above 1, so that a clipping to 1 shows."""
        return outputs.square().sum()

    def make_optimizer(self, parameters: Any) -> torch.optim.Optimizer:
        """Make the optimizer: SGD with momentum, which hides no factor of a gradient."""
        return torch.optim.SGD(parameters, lr=self.learning_rate, momentum=self.momentum)


def backward_cases(seed: int) -> tuple[BackwardCase, ...]:
    """Two settings: a chain, as in the lesson, and shared and frozen weights, which it never shows."""
    draw = random.Random(seed)
    rate, momentum = draw.randrange(20, 60) / 50_000, draw.randrange(60, 90) / 100
    return (
        BackwardCase(draw.randrange(5, 9), draw.randrange(10, 14), 4, False, rate, momentum, seed),
        BackwardCase(draw.randrange(5, 9), draw.randrange(10, 14), 5, True, 2 * rate, momentum, seed + 1),
    )


@dataclass(frozen=True)
class BackwardPeakCase:
    """A chain whose update with AdamW is measured: its activations are small and its gradients large."""

    blocks: int
    batch: int

    def make_model(self) -> nn.Sequential:
        """Build the chain."""
        return make_chain(self.blocks, 256, 1024)

    def make_inputs(self) -> Tensor:
        """Make inputs [batch, 256]."""
        return torch.ones(self.batch, 256)

    @staticmethod
    def make_optimizer(parameters: Any) -> torch.optim.Optimizer:
        """Make AdamW as a loop over the tensors."""
        return torch.optim.AdamW(parameters, foreach=False)


def backward_peak_case(seed: int) -> BackwardPeakCase:
    """One setting: activations of 12 MiB and more, gradients of twice as much and more."""
    draw = random.Random(seed)
    return BackwardPeakCase(draw.randrange(16, 20), draw.randrange(88, 100))
