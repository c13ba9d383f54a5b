"""Weights and gradients that an 8-bit optimizer written by hand takes steps on."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from grader.testbed.block_codes import BLOCK
from grader.testbed.optimizer_steps import UpdateCase

EIGHT_BIT_STEPS = 8
ALL_ZERO = 3  # at this step, counted from 1, a sparse gradient is zero
HALVED_FROM = 5  # from this step on, counted from 1, the learning rates are half


@dataclass(frozen=True)
class EightBitCase(UpdateCase):
    """Tensors around 4,096 numbers, with a gradient for each of 8 steps.

    Blocks of a gradient differ in size by up to 1,000 times, so that a scale for more than a block shows.

    Attributes:
        sparse: Tensors whose rows have gradients by turns, as an embedding has; rows differ in size by up to 100,000
            times, and at one step all of them are zero.
        missing: The step at which a tensor has no gradient, though it has had one.
    """

    sparse: tuple[int, ...] = ()
    missing: Mapping[int, int] = field(default_factory=dict)

    def make_weights(self) -> list[Tensor]:
        """Return the tensors at the start."""
        return [weight.clone() for weight in self._weights]

    @cached_property
    def _weights(self) -> list[Tensor]:
        return super().make_weights()

    def gradients(self, step: int) -> list[Tensor | None]:
        """Return the gradients of a step, counted from 1."""
        return [None if gradient is None else gradient.clone() for gradient in self._drawn[step - 1]]

    @cached_property
    def _drawn(self) -> list[list[Tensor | None]]:
        return [self._draw(step) for step in range(1, EIGHT_BIT_STEPS + 1)]

    def _draw(self, step: int) -> list[Tensor | None]:
        generator = torch.Generator().manual_seed(1000 * self.seed + step)
        drawn: list[Tensor | None] = []
        for index, shape in enumerate(self.shapes):
            values = self.gradient_size * (torch.randn(shape, generator=generator) + 1.5)
            gradient = (values.flatten() * self._sizes(index)).view(shape)
            if index in self.sparse:
                gradient = values * self._rows(index, step)
            has_one = step >= self.first_steps.get(index, 1) and step != self.missing.get(index)
            drawn.append(gradient if has_one else None)
        return drawn

    def _sizes(self, index: int) -> Tensor:
        """Return the size and the sign of each number of a gradient, the same at every step, [numbers]."""
        numbers = torch.Size(self.shapes[index]).numel()
        generator = torch.Generator().manual_seed(97 * self.seed + index)
        sizes = 10 ** (-3 * torch.rand(-(-numbers // BLOCK), generator=generator))
        signs = torch.randint(2, (numbers,), generator=generator) * 2 - 1
        return sizes.repeat_interleave(BLOCK)[:numbers] * signs

    def _rows(self, index: int, step: int) -> Tensor:
        """Return the size of each row of a sparse gradient, 0 for a row whose turn it is not, [rows, 1]."""
        rows = self.shapes[index][0]
        sizes = 10 ** (-5 * torch.rand(rows, generator=torch.Generator().manual_seed(89 * self.seed + index)))
        has_turn = (torch.arange(rows) % 4 == step % 4) & (step != ALL_ZERO)
        return (sizes * has_turn)[:, None]

    def learning_rate(self, group: int, step: int) -> float:
        """Return the learning rate of a group at a step, counted from 1."""
        return self.learning_rates[group] / (2 if self.is_halved and step >= HALVED_FROM else 1)

    def is_quantized(self, index: int) -> bool:
        """Return whether the moments of a tensor are codes."""
        return torch.Size(self.shapes[index]).numel() >= 4096


@lru_cache(maxsize=4)
def eight_bit_cases(seed: int) -> tuple[EightBitCase, ...]:
    """Three settings.

    One group with decay, a short last block and an embedding; no decay and an epsilon that counts, with tensors around
    the limit; two groups with options of their own, a tensor without any gradient, one whose gradients begin later,
    two that miss one on the way, another one behind them, and learning rates that are halved on the way.
    """
    draw = random.Random(seed + 5)
    width, late, never = draw.randrange(90, 120), draw.randrange(3, 5), EIGHT_BIT_STEPS + 1
    first = ((50, width), (4095,), (width,), (64, 80))
    second = ((64, 64), (63, 65), (3, draw.randrange(38, 46), 41))
    third = ((width, 47), (width,), (4097,), (3, 7), (64, 65), (60, 70))
    betas, eps = (draw.choice((0.8, 0.85)), draw.choice((0.95, 0.97))), draw.choice((2e-3, 5e-3))
    return (
        _single_group(first, 0.05, draw.randrange(20, 40) / 100, (0.9, 0.99), 1e-8, 1.0, seed + 4, (3,)),
        _single_group(second, 0.02, 0.0, betas, eps, 0.01, seed + 5),
        EightBitCase(
            third,
            (0, 1, 0, 1, 0, 0),
            (0.04, 0.03),
            (0.4, 0.1),
            (0.9, 0.95),
            0.05,
            0.2,
            {2: late, 4: never},
            True,
            seed + 6,
            missing={0: 4, 1: 3},
        ),
    )


def _single_group(
    shapes: tuple[tuple[int, ...], ...],
    learning_rate: float,
    decay: float,
    betas: tuple[float, float],
    eps: float,
    gradient_size: float,
    seed: int,
    sparse: tuple[int, ...] = (),
) -> EightBitCase:
    groups = (0,) * len(shapes)
    return EightBitCase(shapes, groups, (learning_rate,), (decay,), betas, eps, gradient_size, {}, False, seed, sparse)
