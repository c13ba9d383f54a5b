"""Parameters whose AdamW state streams through small buffers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


def adamw_update(weight: Tensor, gradient: Tensor, first: Tensor, second: Tensor, step: int) -> None:
    """Update a part of a weight and both its moments in place, as torch.optim.AdamW does.

    Args:
        weight: Some of a parameter's numbers.
        gradient: Their gradients.
        first: Their first moments.
        second: Their second moments.
        step: Which update of this parameter it is, counted from 1.
    """
    lr, beta1, beta2, eps, weight_decay = 0.01, 0.9, 0.99, 1e-3, 0.1
    weight.mul_(1 - lr * weight_decay)
    first.lerp_(gradient, 1 - beta1)
    second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    denominator = (second / (1 - beta2**step)).sqrt_().add_(eps)
    weight.addcdiv_(first, denominator, value=-lr / (1 - beta1**step))


@dataclass(frozen=True)
class StreamedCase:
    """Parameters, and the gradients of a few updates.

    Attributes:
        shapes: Shapes of the parameters.
        chunk: Numbers of a chunk.
        absent: For each update the parameters, by position, that have no gradient.
        seed: Seed of weights and gradients.
    """

    shapes: tuple[tuple[int, ...], ...]
    chunk: int
    absent: tuple[tuple[int, ...], ...]
    seed: int

    @property
    def updates(self) -> int:
        """How many updates are taken."""
        return len(self.absent)

    @property
    def numbers(self) -> list[int]:
        """Numbers of each parameter."""
        return [int(torch.Size(shape).numel()) for shape in self.shapes]

    def make_weights(self) -> list[Tensor]:
        """Draw the weights."""
        return self._draw(0)

    def make_gradients(self, update: int) -> list[Tensor | None]:
        """Draw the gradients of an update, counted from 0; None for a parameter without one."""
        drawn = self._draw(update + 1)
        return [None if index in self.absent[update] else one for index, one in enumerate(drawn)]

    def _draw(self, number: int) -> list[Tensor]:
        generator = torch.Generator().manual_seed(1000 * self.seed + number)
        return [torch.randn(shape, generator=generator) for shape in self.shapes]


def streamed_cases(seed: int) -> Sequence[StreamedCase]:
    """Parameters of several chunks with short tails, two of one shape; and some without a gradient in some updates."""
    draw = random.Random(seed)
    chunk = draw.randrange(5, 9)
    plain: tuple[tuple[int, ...], ...] = ((3 * chunk + 1,), (2, chunk), (4, chunk, 2), (chunk - 2,), (2, chunk))
    other = draw.randrange(10, 14)
    shapes: tuple[tuple[int, ...], ...] = ((other, 3), (), (2 * other + 1,), (2, other + 1))
    absent = ((0,), (2,), (0, 3), (), (1,))
    return (StreamedCase(plain, chunk, ((), (), ()), seed), StreamedCase(shapes, other, absent, seed + 7))


def streamed_peak_case(seed: int) -> StreamedCase:
    """About a million numbers in two parameters, in chunks of 2**15."""
    rows = random.Random(seed).randrange(250, 290)
    return StreamedCase(((rows, 2048), (2048, rows)), 2**15, ((), ()), seed)
