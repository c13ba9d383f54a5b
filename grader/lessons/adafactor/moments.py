"""Gradients whose second moment is kept in rows and columns."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

MOMENT_STEPS = 6


@dataclass(frozen=True)
class MomentCase:
    """A gradient for each of six steps.

    Attributes:
        shape: Of the gradient: two dimensions, or more.
        decay_rate: The mean forgets with 1 - step**decay_rate.
        eps: Added to each squared gradient.
        size: About the size of a gradient's numbers.
        is_first_zero: Whether the first gradient is zero everywhere.
        has_zero_row: Whether the first row of each gradient is zero.
        seed: Seed of the gradients.
    """

    shape: tuple[int, ...]
    decay_rate: float
    eps: float
    size: float
    is_first_zero: bool
    has_zero_row: bool
    seed: int

    def gradient(self, step: int) -> Tensor:
        """Draw the gradient of a step, counted from 1; rows, columns and matrices of a stack differ in size."""
        generator = torch.Generator().manual_seed(1000 * self.seed + step)
        if self.is_first_zero and step == 1:
            return torch.zeros(self.shape)
        gradient = self.size * torch.randn(self.shape, generator=generator)
        for dimension, side in enumerate(self.shape):
            sides = [1] * len(self.shape)
            sides[dimension] = side
            gradient = gradient * torch.linspace(0.5, 2.0, side).view(sides)
        if self.has_zero_row:
            gradient[..., 0, :] = 0.0
        return gradient


def moment_cases(seed: int) -> tuple[MomentCase, ...]:
    """Five settings.

    A wide matrix, as in the lesson; a tall one with a zero row, another decay and an epsilon that counts; a stack of
    matrices whose first gradient is zero; a square one; a stack of stacks.
    """
    draw = random.Random(seed)
    wide, tall, square = draw.randrange(7, 11), draw.randrange(4, 7), draw.randrange(5, 8)
    other = draw.choice((-0.5, -0.6, -0.7))
    return (
        MomentCase((tall, wide), -0.8, 1e-30, 1.0, False, False, seed),
        MomentCase((wide, tall), other, draw.choice((1e-5, 2e-5)), 0.01, False, True, seed + 1),
        MomentCase((3, tall, wide), -0.8, 1e-30, 0.1, True, False, seed + 2),
        MomentCase((square, square), other, 1e-30, 1.0, False, False, seed + 3),
        MomentCase((2, 3, wide, tall), -0.8, 1e-30, 1.0, False, False, seed + 4),
    )
