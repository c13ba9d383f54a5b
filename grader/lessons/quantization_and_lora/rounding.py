"""Values that are rounded to a few integers while a network trains, and the gradient that passes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.observing.contract import fail


@dataclass(frozen=True)
class RoundingCase:
    """Values, and the grid that they are rounded to.

    Attributes:
        shape: Of the values.
        bits: Of an integer with a sign.
        scale: Distance of two neighbours of the grid.
        dtype: Format of the values.
        seed: Seed of the values.
    """

    shape: tuple[int, ...]
    bits: int
    scale: float
    dtype: torch.dtype
    seed: int

    def draw(self) -> tuple[Tensor, Tensor]:
        """Draw values, a third of them beyond the grid, some halfway or at its ends, and the gradient of the result."""
        draw = torch.Generator().manual_seed(self.seed)
        reach = self.scale * 2 ** (self.bits - 1)
        values = reach * torch.randn(self.shape, generator=draw, dtype=self.dtype)
        values = self.scale * ((64 * values / self.scale).floor() / 64 + 1 / 128)  # sums of them are exact in float32
        end = 2.0 ** (self.bits - 1)
        special = [0.5, min(1.5, end - 1.5), -0.5, -1.5, -end, end - 1, -end - 0.25, end - 0.75]  # in steps of the grid
        values.view(-1)[: len(special)] = self.scale * torch.tensor(special, dtype=self.dtype)
        return values, torch.randn(self.shape, generator=draw, dtype=self.dtype)


def rounding_cases(seed: int) -> tuple[RoundingCase, ...]:
    """Four bits as in the lesson, eight, and two."""
    draw = random.Random(seed)
    return (
        RoundingCase((40,), 4, 0.25, torch.float32, seed),
        RoundingCase((draw.randrange(20, 30), 8), 8, draw.choice((0.0625, 0.03125)), torch.float64, seed + 1),
        RoundingCase((3, draw.randrange(10, 20)), draw.choice((2, 3)), 0.5, torch.float64, seed + 2),
    )


def run_rounding(fake_quantize: Callable[..., Any], case: RoundingCase) -> tuple[Any, Tensor]:
    """Round the values of a case; return the result and the gradient of the values."""
    values, direction = case.draw()
    kept = values.clone()
    values.requires_grad_()
    rounded = fake_quantize(values, case.scale, case.bits)
    if not torch.equal(values, kept):
        look_at = "You write into `values`. Return a new tensor."
        fail("values_changed", "`values` as they were", "other `values` after the call", look_at)
    if isinstance(rounded, Tensor) and rounded.requires_grad and rounded.shape == values.shape:
        torch.autograd.backward(rounded, direction)
    return rounded, torch.zeros_like(values) if values.grad is None else values.grad
