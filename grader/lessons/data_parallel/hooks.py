"""Models that several ranks train together; each rank begins with other weights and has other rows."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor, nn

LEARNING_RATE = 0.1
UPDATES = 3
_WIDTH = 6


class LayersOutOfOrder(nn.Module):
    """A small regression whose layers need not run in the order in which they are registered, nor all of them.

    Attributes:
        order: Which of the layers between the first and the last forward runs, in this order.
    """

    def __init__(self, features: int, *, is_last_registered_first: bool):
        super().__init__()
        if is_last_registered_first:
            self.last = nn.Linear(_WIDTH, 1)
        self.middle = nn.ModuleList(nn.Linear(_WIDTH, _WIDTH) for _ in range(3))
        self.first = nn.Linear(features, _WIDTH)
        if not is_last_registered_first:
            self.last = nn.Linear(_WIDTH, 1)
        self.order: tuple[int, ...] = (0, 1, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        """Run the layers on inputs [rows, features]."""
        hidden = torch.tanh(self.first(inputs))
        for number in self.order:
            hidden = torch.tanh(self.middle[number](hidden))
        predicted: Tensor = self.last(hidden)
        return predicted


@dataclass(frozen=True)
class HooksCase:
    """A small regression that every rank builds by itself.

    Attributes:
        world_size: How many ranks.
        rows: Rows of a batch on each rank.
        features: Features of a row.
        bucket_bytes: A bucket is closed as soon as it holds so many.
        orders: Of each update the layers that it runs.
        is_tied: Whether two layers share one weight.
        is_frozen: Whether the first layer is frozen.
        seed: Seed of data and weights.
    """

    world_size: int
    rows: int
    features: int
    bucket_bytes: int
    orders: tuple[tuple[int, ...], ...]
    is_tied: bool
    is_frozen: bool
    seed: int

    def make_model(self, rank: int) -> LayersOutOfOrder:
        """Build the model of a rank, from a seed of its own."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1000 * rank + self.seed)
            model = LayersOutOfOrder(self.features, is_last_registered_first=self.is_tied)
        if self.is_tied:
            model.middle[1].weight = model.middle[0].weight
        model.first.requires_grad_(not self.is_frozen)
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
    """Three settings on two, three and four ranks.

    Layers run out of order in all; one has a tied weight, one a frozen layer and updates that leave a layer out. A
    bucket is filled exactly by a layer in the first. In the last one, gradients are left over when backward ends.
    """
    draw = random.Random(seed)
    rows, features = draw.randrange(2, 6), draw.randrange(3, 8)
    small, large = draw.choice((92, 96, 100)), draw.choice((200, 208, 216))
    exact = 4 * _WIDTH * (_WIDTH + 1)  # weight and bias of a layer
    return (
        HooksCase(2, rows, features, exact, ((2, 0, 1),) * 3, is_tied=False, is_frozen=False, seed=seed),
        HooksCase(3, rows, features, small, ((1, 0, 2),) * 3, is_tied=True, is_frozen=False, seed=seed + 1),
        HooksCase(4, rows + 1, features, large, ((2, 1), (0, 2, 1), (0, 2)), False, True, seed + 2),
    )
