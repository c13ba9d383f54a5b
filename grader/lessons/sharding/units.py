"""Chains of units whose weights are vectors, so that each rank can hold a share of each vector."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

Run = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class UnitCase:
    """Equal units one after another.

    Attributes:
        world_size: How many ranks.
        width: Features between two units.
        hidden: Features inside a unit.
        units: How many.
        rows: Rows of a batch on each rank.
        seed: Seed of weights and rows.
    """

    world_size: int
    width: int
    hidden: int
    units: int
    rows: int
    seed: int

    @property
    def total(self) -> int:
        """Weights of one unit."""
        return 2 * self.width * self.hidden + self.hidden

    @property
    def share(self) -> int:
        """Numbers of a unit that one rank holds: the last rank's are padded with zeros."""
        return -(-self.total // self.world_size)

    def make_run(self) -> Run:
        """Return the function that runs one unit: two matrices, a bias and a residual connection."""
        width, hidden, total = self.width, self.hidden, self.total

        def run(flat: Tensor, inputs: Tensor) -> Tensor:
            if flat.shape != (total,):
                raise ValueError(f"run takes a vector of {total} weights, and was given {tuple(flat.shape)}")
            first, second, bias = torch.split(flat, [width * hidden, width * hidden, hidden])
            inside = torch.tanh(inputs @ first.view(width, hidden) + bias)
            outputs: Tensor = inputs + inside @ second.view(hidden, width)
            return outputs

        return run

    def make_weights(self) -> list[Tensor]:
        """Draw the vector of each unit, the same on every rank."""
        generator = torch.Generator().manual_seed(self.seed)
        return [torch.randn(self.total, generator=generator) / self.width**0.5 for _ in range(self.units)]

    def make_shards(self, rank: int) -> list[Tensor]:
        """Return this rank's share of each vector, as a leaf."""
        padded = [F.pad(flat, (0, self.share * self.world_size - self.total)) for flat in self.make_weights()]
        return [flat.chunk(self.world_size)[rank].clone().requires_grad_() for flat in padded]

    def make_inputs(self, rank: int) -> Tensor:
        """Draw the rows of a rank [rows, width]."""
        generator = torch.Generator().manual_seed(self.seed + 100 + rank)
        return torch.randn(self.rows, self.width, generator=generator)


def unit_cases(seed: int) -> tuple[UnitCase, ...]:
    """Return two settings: two ranks, and three, with another number of units; neither divides evenly."""
    draw = random.Random(seed)
    width = draw.choice((48, 56))  # a unit is larger than the random states that torch's checkpoint keeps
    return (
        UnitCase(2, width, draw.choice((95, 97)), 12, draw.randrange(3, 6), seed),
        UnitCase(3, width, 3 * draw.randrange(30, 33) + 1, 14, draw.randrange(2, 5), seed + 1),
    )
