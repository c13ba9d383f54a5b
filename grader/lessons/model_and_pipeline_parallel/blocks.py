"""Blocks of two linear layers that several ranks share."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor, nn

PARTS = ("up.weight", "up.bias", "down.weight", "down.bias")


@dataclass(frozen=True)
class BlockCase:
    """A block of the same weights on every rank, before it is split.

    Attributes:
        world_size: How many ranks.
        width: Features of its input and output.
        inner: Features between the two layers; need not be a multiple of the ranks.
        shape: Shape of the input without its last dimension.
        activation: Name of a module of torch.nn.
        seed: Seed of weights, input and gradient.
    """

    world_size: int
    width: int
    inner: int
    shape: tuple[int, ...]
    activation: str
    seed: int

    def make_block(self) -> nn.Sequential:
        """Build the whole block, which is the same on every rank."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            first, second = nn.Linear(self.width, self.inner), nn.Linear(self.inner, self.width)
        return nn.Sequential(first, getattr(nn, self.activation)(), second)

    def make_tensors(self) -> tuple[Tensor, Tensor]:
        """Draw the input and the gradient of the output, which are the same on every rank."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        one, two = (torch.randn(*self.shape, self.width, generator=generator) for _ in range(2))
        return one, two


def block_cases(seed: int) -> tuple[BlockCase, ...]:
    """Two blocks: even shares on 2 ranks, and uneven ones on 3; few rows."""
    draw = random.Random(seed)
    width = draw.choice((16, 20))
    return (
        BlockCase(2, width, 2 * width, (3,), "GELU", seed),
        BlockCase(3, width + 4, draw.choice((40, 43)), (2, 2), "Tanh", seed + 1),
    )
