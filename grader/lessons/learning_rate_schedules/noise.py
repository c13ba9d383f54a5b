"""Gradients of micro-batches, as sums of a common gradient and noise that falls with the rows."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class NoiseCase:
    """Gradients of equally large micro-batches.

    Attributes:
        rows: Rows of each micro-batch.
        micro_batches: How many there are.
        signal: Length of the common gradient.
        noise: Standard deviation of a row's gradient, along each of its 400 numbers.
        seed: Seed of the draw.
    """

    rows: int
    micro_batches: int
    signal: float
    noise: float
    seed: int

    def draw(self) -> Tensor:
        """Draw the gradients, [micro_batches, 400]."""
        generator = torch.Generator().manual_seed(self.seed)
        common = torch.randn(400, generator=generator, dtype=torch.float64)
        noise = torch.randn(self.micro_batches, 400, generator=generator, dtype=torch.float64)
        gradients: Tensor = common * (self.signal / common.norm()) + noise * (self.noise / self.rows**0.5)
        return gradients


def noise_cases(seed: int) -> tuple[NoiseCase, ...]:
    """Noise that is small, and noise that hides the gradient, from few and many micro-batches."""
    draw = random.Random(seed)
    return (
        NoiseCase(8, 16, 1.0, 0.5, seed),
        NoiseCase(draw.choice((2, 5)), draw.randrange(20, 40), 2.0, 0.3, seed + 1),
        NoiseCase(32, 3, 1.5, draw.choice((0.8, 1.1)), seed + 2),
    )
