"""Values that are rounded to a few integers while a network trains, and the gradient that passes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class RoundingCase:
    """Values, and the grid that they are rounded to.

    Attributes:
        shape: Of the values.
        bits: Of an integer with a sign.
        scale: Distance of two neighbours of the grid.
        seed: Seed of the values.
    """

    shape: tuple[int, ...]
    bits: int
    scale: float
    seed: int

    def draw(self) -> tuple[Tensor, Tensor]:
        """Draw values, of which a third is beyond the grid, and the gradient of the result."""
        draw = torch.Generator().manual_seed(self.seed)
        reach = self.scale * 2 ** (self.bits - 1)
        values = reach * torch.randn(self.shape, generator=draw, dtype=torch.float64)
        values.view(-1)[:2] = self.scale * torch.tensor([0.5, -1.5], dtype=torch.float64)  # halfway
        return values, torch.randn(self.shape, generator=draw, dtype=torch.float64)


def rounding_cases(seed: int) -> tuple[RoundingCase, ...]:
    """Four bits as in the lesson, eight, and two."""
    draw = random.Random(seed)
    return (
        RoundingCase((40,), 4, 0.25, seed),
        RoundingCase((draw.randrange(20, 30), 8), 8, draw.choice((0.0625, 0.03125)), seed + 1),
        RoundingCase((3, draw.randrange(10, 20)), draw.choice((2, 3)), 0.5, seed + 2),
    )


def run_rounding(fake_quantize: Callable[..., Any], case: RoundingCase) -> tuple[Any, Tensor]:
    """Round the values of a case; return the result and the gradient of the values."""
    values, direction = case.draw()
    values.requires_grad_()
    rounded = fake_quantize(values, case.scale, case.bits)
    if isinstance(rounded, Tensor) and rounded.requires_grad and rounded.shape == values.shape:
        torch.autograd.backward(rounded, direction)
    return rounded, torch.zeros_like(values) if values.grad is None else values.grad
