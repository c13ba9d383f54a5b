"""Sequences whose positions are shared out to several ranks."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class ContextCase:
    """Queries, keys and values of a sequence, cut along its positions.

    Attributes:
        world_size: How many ranks.
        heads: Heads of the attention.
        time: Positions; need not be a multiple of the ranks.
        head_dim: Features of a head.
        scale: Factor on the inputs: larger ones make the weights less even.
        seed: Seed of the tensors.
    """

    world_size: int
    heads: int
    time: int
    head_dim: int
    scale: float
    seed: int

    def make_tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Draw query, key and value of the whole sequence, [heads, time, head_dim]."""
        generator = torch.Generator().manual_seed(self.seed)
        shape = (self.heads, self.time, self.head_dim)
        query, key, value = (torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(3))
        return self.scale * query, self.scale * key, value

    def make_shares(self, rank: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the positions of one rank of query, key and value."""
        one, two, three = (tensor.tensor_split(self.world_size, dim=1)[rank].clone() for tensor in self.make_tensors())
        return one, two, three


def context_cases(seed: int) -> tuple[ContextCase, ...]:
    """Three sequences on 3 and 4 ranks: even shares as in the lesson, uneven ones, and scores that overflow exp."""
    draw = random.Random(seed)
    return (
        ContextCase(3, 2, 12, 8, 1.0, seed),
        ContextCase(3, 1, draw.choice((13, 14)), draw.choice((5, 6, 7)), 2.0, seed + 1),
        ContextCase(4, 3, draw.choice((17, 18, 19)), 4, 30.0, seed + 2),
    )
