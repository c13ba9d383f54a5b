"""Models that several ranks step together, each with a share of the optimizer state."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor, nn

LEARNING_RATE = 0.05
EPSILON = 0.1  # as large as gradients here, so that AdamW does not hide their scale
UPDATES = 3


@dataclass(frozen=True)
class StepCase:
    """A small regression; every rank builds the same model and has rows of its own.

    Attributes:
        world_size: How many ranks.
        features: Features of a row.
        hidden: Width of the hidden layer.
        frozen: How many of the first parameters are frozen.
        seed: Seed of weights and rows.
    """

    world_size: int
    features: int
    hidden: int
    frozen: int
    seed: int

    def make_model(self) -> nn.Sequential:
        """Build the model, the same on every rank."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            layers = (nn.Linear(self.features, self.hidden), nn.Tanh(), nn.Linear(self.hidden, 1))
        model = nn.Sequential(*layers)
        for parameter in list(model.parameters())[: self.frozen]:
            parameter.requires_grad_(False)
        return model

    def make_batches(self, rank: int) -> list[tuple[Tensor, Tensor]]:
        """Draw inputs [4, features] and targets [4, 1] of each update."""
        generator = torch.Generator().manual_seed(self.seed + 100 * rank)
        return [
            (torch.randn(4, self.features, generator=generator), torch.randn(4, 1, generator=generator) + rank - 2)
            for _ in range(UPDATES)
        ]


def step_cases(seed: int) -> tuple[StepCase, ...]:
    """Three settings on two, three and four ranks; no number of trained parameters divides by the ranks."""
    draw = random.Random(seed)
    odd, features = draw.choice((9, 11, 13)), 2 * draw.randrange(3, 6)
    return (
        StepCase(2, features, odd, 0, seed),  # (features + 2) * odd + 1 numbers: odd + 1 is even, so one is left over
        StepCase(3, 3 * draw.randrange(2, 4) + 1, draw.choice((9, 12)), 0, seed + 1),
        StepCase(4, features, 4 * draw.randrange(5, 8), 1, seed + 2),
    )
