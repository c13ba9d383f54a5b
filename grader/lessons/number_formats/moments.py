"""Second moments in narrow formats: whether they decay, and how stochastic rounding lets them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

FATES = ("frozen", "stalls", "decays")


@dataclass(frozen=True)
class MomentCase:
    """A second moment whose gradient is zero from now on.

    Attributes:
        beta2: The factor of each update.
        mantissa_bits: Bits of the mantissa that the moment is stored with.
    """

    beta2: float
    mantissa_bits: int


@dataclass(frozen=True)
class StochasticCase:
    """Values to be rounded to bf16 with random numbers.

    Attributes:
        what: What is special about the values.
        low: Smallest power of two of the values.
        high: Largest power of two of the values.
        shape: Shape of the values.
        seed: Seed of values and random numbers.
    """

    what: str
    low: int
    high: int
    shape: tuple[int, ...]
    seed: int

    def make_tensors(self) -> tuple[Tensor, Tensor]:
        """Draw values of both signs, with zeros and numbers of bf16 among them, and as many numbers in [0, 1)."""
        generator = torch.Generator().manual_seed(self.seed)
        exponent = torch.randint(self.low, self.high + 1, self.shape, generator=generator)
        sign = torch.randint(0, 2, self.shape, generator=generator) * 2.0 - 1
        values = torch.ldexp(sign * (1 + torch.rand(self.shape, generator=generator)), exponent)
        flat = values.view(-1)
        flat[::7] = flat[::7].bfloat16().float()
        flat[3] = 0.0
        return values, torch.rand(self.shape, generator=generator)


def moment_cases(seed: int) -> tuple[MomentCase, ...]:
    """Return nine settings in a drawn order, three of each fate; 1 - beta2 is 5 % or more from every limit."""
    draw = random.Random(seed)
    cases = []
    ranges = ((0.1, 0.2), (0.28, 0.35), (0.36, 0.44), *3 * ((0.56, 0.9),), (1.15, 1.8), (2.3, 3), (3, 6))
    for index, (low, high) in enumerate(ranges):
        mantissa_bits = (7, draw.choice((5, 6, 8)), draw.choice((9, 10)))[index % 3]
        lost = draw.uniform(low, high) * 2.0 ** -(mantissa_bits + 1)  # as a share of half a spacing at 1
        cases.append(MomentCase(1 - lost, mantissa_bits))
    draw.shuffle(cases)
    return tuple(cases)


def stochastic_cases(seed: int) -> tuple[StochasticCase, ...]:
    """Return three settings: weights, second moments, and a matrix of wide range."""
    return (
        StochasticCase("weights", -6, 0, (300,), 3 * seed),
        StochasticCase("second moments", -60, -30, (257,), 3 * seed + 1),
        StochasticCase("a matrix of wide range", -20, 20, (17, 19), 3 * seed + 2),
    )
