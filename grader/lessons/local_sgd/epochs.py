"""Epochs of local SGD on several ranks: micro-batches, groups that make one update, updates between two averages."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor, nn

SGD, MOMENTUM, ADAMW = "SGD", "SGD with momentum", "AdamW"
_WIDTH = 8


@dataclass(frozen=True)
class EpochCase:
    """Equal micro-batches that the ranks share out, one by one.

    Attributes:
        world_size: How many ranks.
        micro_batches: How many each rank has.
        k: How many of a rank make one update; the last group may be shorter.
        every: The ranks average after so many updates.
        optimizer: "SGD", "SGD with momentum" or "AdamW".
        is_normalised: Whether the model has running statistics.
        rows: Rows of each micro-batch.
        features: Features of a row.
        seed: Seed of data and weights.
    """

    world_size: int
    micro_batches: int
    k: int
    every: int
    optimizer: str
    is_normalised: bool
    rows: int
    features: int
    seed: int

    def make_model(self) -> nn.Sequential:
        """Build a small regression model, the same on every rank."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            middle = nn.BatchNorm1d(_WIDTH) if self.is_normalised else nn.Tanh()
            first = nn.Linear(self.features, _WIDTH, bias=not self.is_normalised)
            return nn.Sequential(first, middle, nn.Linear(_WIDTH, _WIDTH), nn.Tanh(), nn.Linear(_WIDTH, 1))

    def make_optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Make the optimizer of the case."""
        if self.optimizer == ADAMW:
            return torch.optim.AdamW(model.parameters(), lr=0.02)
        return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9 if self.optimizer == MOMENTUM else 0.0)

    def make_micro_batches(self) -> list[tuple[Tensor, Tensor]]:
        """Draw inputs [rows, features] and targets [rows, 1] for all ranks; each micro-batch has another mean."""
        generator = torch.Generator().manual_seed(self.seed)
        drawn = []
        for index in range(self.world_size * self.micro_batches):
            inputs = torch.randn(self.rows, self.features, generator=generator)
            drawn.append((inputs, torch.randn(self.rows, 1, generator=generator) + index % 5 - 2))
        return drawn


def epoch_cases(seed: int) -> tuple[EpochCase, ...]:
    """Five settings; in the first one the ranks are not as many as the micro-batches of an update.

    On two ranks: a short last group, and a final average that is needed; one that is not, with momentum; an average
    after each update. On three: running statistics, momentum, and an average right after a short last group; then AdamW
    with fewer updates than `every`, which divides the number of micro-batches.
    """
    draw = random.Random(seed)
    rows, features, odd = draw.randrange(3, 6), draw.randrange(3, 9), draw.choice((3, 5))
    return (
        EpochCase(2, 19, 3, 4, SGD, False, rows, features, seed),
        EpochCase(2, 16, 2, 4, MOMENTUM, False, rows, features, seed + 1),
        EpochCase(2, 6, 2, 1, SGD, False, rows, features, seed + 2),
        EpochCase(3, 3 * odd + 1, odd, 2, MOMENTUM, True, rows + 3, features, seed + 3),
        EpochCase(3, 6, 2, 6, ADAMW, False, rows, features, seed + 4),
    )


def accelerated_cases(seed: int) -> tuple[EpochCase, ...]:
    """Two settings for Accelerate: full groups, other numbers of ranks than of micro-batches, a final average."""
    draw = random.Random(seed)
    rows, features = draw.randrange(3, 6), draw.randrange(3, 9)
    return (
        EpochCase(2, 21, 3, 4, SGD, False, rows, features, seed + 5),
        EpochCase(3, 10, 2, 2, SGD, False, rows, features, seed + 6),
    )
