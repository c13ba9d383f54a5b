"""Tensors of a training job for which a format is chosen."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

import torch
from torch import Tensor

FORMAT_NAMES = ("e4m3", "e5m2", "fp16", "bf16", "fp32")


@dataclass(frozen=True)
class ChoiceCase:
    """A tensor, and the relative error that its values may have.

    Attributes:
        what: What the tensor holds.
        tolerance: The largest relative error that a value other than zero may have.
        exponents: Smallest and largest power of two of the values.
        outlier: A value far from the others; 0 for none.
        zeros: Share of the values that are zero.
        is_power_of_two: Whether all values are powers of two.
        seed: Seed of the values.
    """

    what: str
    tolerance: float
    exponents: tuple[int, int]
    outlier: float = 0.0
    zeros: float = 0.0
    is_power_of_two: bool = False
    seed: int = 0

    def make_values(self) -> Tensor:
        """Draw 2,000 values of both signs in float32, the outlier among them."""
        generator = torch.Generator().manual_seed(self.seed)
        low, high = self.exponents
        exponent = torch.randint(low, high + 1, (2000,), generator=generator).double()
        significand = 1 + torch.rand(2000, generator=generator).double() * (not self.is_power_of_two)
        significand[0] = 1  # every format has powers of two: the first value alone shows nothing of precision
        sign = torch.randint(0, 2, (2000,), generator=generator) * 2 - 1
        kept = torch.rand(2000, generator=generator) >= self.zeros
        values = (sign * kept * significand * torch.exp2(exponent)).float()
        if self.outlier:
            values[int(torch.randint(1, 2000, (), generator=generator))] = self.outlier
        return values


def choice_cases(seed: int) -> tuple[ChoiceCase, ...]:
    """Return fifteen settings in a drawn order; each of them tests one rule of the choice."""
    draw, seeds = random.Random(seed), itertools.count(15 * seed)
    big, small = draw.uniform(7e4, 3e5), draw.uniform(1e-8, 2.5e-8)
    beyond_fp16 = draw.uniform(65530, 65690)  # infinite in fp16, and 65504 is near

    def case(what: str, tolerance: float, low: int, high: int, widest: float = 1.1, **others: object) -> ChoiceCase:
        varied = draw.uniform(1.0, widest) * tolerance
        return ChoiceCase(what, varied, (low, high), seed=next(seeds), **others)  # type: ignore[arg-type]

    cases = [
        case("weights", 2.0**-11, -8, 0, outlier=2.0),  # the largest of them is kept by every format
        case("activations", 0.065, -5, 4),
        case("activations with one negative outlier", 2.0**-11, -6, 3, outlier=-big),
        case("activations with many zeros", 0.065, -5, 4, zeros=0.6),
        case("gradients with one tiny value", 2.0**-8, -12, -3, outlier=-small),
        case("gradients with a wide range", 0.13, -13, 7),
        case("updates", 2.0**-8, -40, -33),
        case("second moments", 2.0**-8, -70, -37),
        case("scales that are powers of two", 2.0**-14, -60, 40, is_power_of_two=True),
        case("masks and signs", 0.13, -5, 4),
        case("attention scores", 0.0262, -5, 4),
        case("master weights", 2.0**-20, -8, 0),
        case("activations with one large outlier", 2.0**-8, -6, 3, outlier=beyond_fp16),
        # 1.0625 becomes 1: its error is 1/17 of the value, and 1/16 of the rounded value.
        case("attention weights", 0.0592, -5, 4, widest=1.04, outlier=draw.choice((1.0625, -1.0625))),
        case("flags to be kept exactly", 0.0, -5, 4, is_power_of_two=True),
    ]
    draw.shuffle(cases)
    return tuple(cases)
