"""Long sums of small values in a narrow format."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class SumCase:
    """Totals that begin somewhere, and the values that are added to them one after another.

    Attributes:
        what: What is added up.
        dtype: Format of totals and values.
        steps: Values for each total.
        count: Totals that are added up in parallel.
        start: Size of the totals at the beginning.
        size: Size of the values.
        noise: Share of a value that changes from step to step; above 1 the signs change.
        seed: Seed of the values.
    """

    what: str
    dtype: torch.dtype
    steps: int
    count: int
    start: float
    size: float
    noise: float
    seed: int

    def make_tensors(self) -> tuple[Tensor, Tensor]:
        """Return the totals [count] and the values [steps, count], both in the format."""
        generator = torch.Generator().manual_seed(self.seed)
        start = self.start * (1 + torch.rand(self.count, generator=generator))
        drift = self.size * (1 + torch.rand(self.count, generator=generator))
        noise = torch.randn(self.steps, self.count, generator=generator)
        return start.to(self.dtype), (drift * (1 + self.noise * noise)).to(self.dtype)


def sum_cases(seed: int) -> tuple[SumCase, ...]:
    """Return three settings: a sum from zero, weights with growing updates, and negative weights with noisy updates."""
    return (
        SumCase("a sum of small values from zero", torch.bfloat16, 1000, 8, 0.0, 0.008, 0.0, seed),
        SumCase("weights with small updates", torch.float16, 800, 6, 2.0, 3e-4, 0.3, seed + 1),
        SumCase("negative weights with noisy updates", torch.bfloat16, 1200, 5, -2.0, 4e-4, 2.0, seed + 2),
    )
