"""Models that several ranks train together; each rank begins with other weights and has other rows."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor, nn

LEARNING_RATE = 0.1
UPDATES = 3
_WIDTH = 6


@dataclass(frozen=True)
class HooksCase:
    """A small regression that every rank builds by itself.

    Attributes:
        world_size: How many ranks.
        rows: Rows of a batch on each rank.
        features: Features of a row.
        is_tied: Whether two layers share one weight.
        is_frozen: Whether the first layer is frozen.
        seed: Seed of data and weights.
    """

    world_size: int
    rows: int
    features: int
    is_tied: bool
    is_frozen: bool
    seed: int

    def make_model(self, rank: int) -> nn.Sequential:
        """Build the model of a rank, from a seed of its own."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1000 * rank + self.seed)
            model = nn.Sequential(
                nn.Linear(self.features, _WIDTH),
                nn.Tanh(),
                nn.Linear(_WIDTH, _WIDTH),
                nn.Tanh(),
                nn.Linear(_WIDTH, _WIDTH),
                nn.Tanh(),
                nn.Linear(_WIDTH, 1),
            )
        if self.is_tied:
            model[4].weight = model[2].weight
        model[0].requires_grad_(not self.is_frozen)
        return model

    def make_batches(self, rank: int) -> list[tuple[Tensor, Tensor]]:
        """Draw inputs [rows, features] and targets [rows, 1] of each update; their mean differs between ranks."""
        generator = torch.Generator().manual_seed(self.seed + 100 * rank)
        return [
            (
                torch.randn(self.rows, self.features, generator=generator),
                torch.randn(self.rows, 1, generator=generator) + 2 * rank - update,
            )
            for update in range(UPDATES)
        ]


def hooks_cases(seed: int) -> tuple[HooksCase, ...]:
    """Three settings: two ranks; three with a tied weight; four with a tied weight and a frozen layer."""
    draw = random.Random(seed)
    rows, features = draw.randrange(2, 6), draw.randrange(3, 8)
    return (
        HooksCase(2, rows, features, is_tied=False, is_frozen=False, seed=seed),
        HooksCase(3, rows, features, is_tied=True, is_frozen=False, seed=seed + 1),
        HooksCase(4, rows + 1, features, is_tied=True, is_frozen=True, seed=seed + 2),
    )
