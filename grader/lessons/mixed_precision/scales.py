"""Histories of a loss scale: what it becomes is predicted, and a learner's own scaler has to live through them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

MOMENTUM = 0.9


@dataclass(frozen=True)
class ScaleCase:
    """A history whose scale is asked for.

    Attributes:
        start_scale: The scale of the first update.
        growth_interval: Good updates in a row after which the scale doubles.
        found_inf: For each update, whether a gradient was inf or NaN.
    """

    start_scale: float
    growth_interval: int
    found_inf: tuple[bool, ...]


def _history(updates: int, *infs: int) -> tuple[bool, ...]:
    return tuple(update in infs for update in range(updates))


def scale_histories(seed: int) -> tuple[ScaleCase, ...]:
    """Four histories.

    Infinities at 2 and 9 with growth after 4; drawn ones, two of them in a row and one where growth was due; growth
    after every good update; no infinity at all, and a scale that ends beyond PyTorch's first.
    """
    draw = random.Random(seed)
    interval = draw.choice((3, 5))
    due = interval - 1
    pair = 2 * interval + draw.randrange(2, interval)
    exponents = draw.sample(range(7, 15), 2)
    return (
        ScaleCase(2.0**16, 4, _history(14, 2, 9)),
        ScaleCase(2.0 ** exponents[0], interval, _history(pair + 2 * interval, due, pair, pair + 1)),
        ScaleCase(2.0 ** exponents[1], 1, _history(7, draw.randrange(2, 4), 5)),
        ScaleCase(2.0**15, 6 - interval // 2, _history(11)),
    )


def scale_cases(seed: int) -> tuple[ScaleCase, ...]:
    """Return every history up to each of its updates, beginning with none."""
    return tuple(
        ScaleCase(case.start_scale, case.growth_interval, case.found_inf[:updates])
        for case in scale_histories(seed)
        for updates in range(len(case.found_inf) + 1)
    )


@dataclass(frozen=True)
class ScalerCase:
    """Scaled gradients that a learner's scaler turns into updates.

    Attributes:
        start_scale: The scale of the first update.
        growth_interval: Good updates in a row after which the scale doubles.
        updates: How often the scaler is called.
        gradient_size: Standard deviation of the true gradients.
        injected: For each update with an injected value: the parameter that it is put into, and the value.
        is_grouped: Whether there are two parameter groups, and a parameter that never has a gradient.
        seed: Seed of weights and gradients.
    """

    start_scale: float
    growth_interval: int
    updates: int
    gradient_size: float
    injected: tuple[tuple[int, int, float], ...]
    is_grouped: bool
    seed: int

    def make_weights(self) -> list[nn.Parameter]:
        """Draw a weight [5, 3], a bias [5] and a head [2, 5]; and one more [4] where there are two groups."""
        generator = torch.Generator().manual_seed(self.seed)
        shapes = [(5, 3), (5,), (2, 5)] + ([(4,)] if self.is_grouped else [])
        return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]

    def make_optimizer(self, weights: list[nn.Parameter]) -> torch.optim.SGD:
        """Build SGD with momentum: an update with a gradient of zero would still move the weights."""
        if not self.is_grouped:
            return torch.optim.SGD(weights, lr=0.1, momentum=MOMENTUM)
        groups: list[dict[str, Any]] = [{"params": weights[:2]}, {"params": weights[2:], "lr": 0.01}]
        return torch.optim.SGD(groups, lr=0.1, momentum=MOMENTUM)

    def true_gradients(self, update: int) -> list[Tensor]:
        """Draw the gradient of each of the three weights that have one."""
        generator = torch.Generator().manual_seed(1000 * self.seed + update + 1)
        shapes: tuple[tuple[int, ...], ...] = ((5, 3), (5,), (2, 5))
        return [self.gradient_size * torch.randn(shape, generator=generator) for shape in shapes]

    def scaled_gradients(self, update: int, scale: float) -> list[Tensor]:
        """Return what a backward in fp16 leaves: the gradients times the scale, through fp16, in float32.

        What exceeds the range of fp16 is inf. Injected values come on top, whatever the scale.
        """
        scaled = [(gradient * scale).half().float() for gradient in self.true_gradients(update)]
        for at, parameter, value in self.injected:
            if at == update:
                scaled[parameter].view(-1)[-1] = value
        return scaled

    def is_overflow(self, update: int, scale: float) -> bool:
        """Whether a gradient of this update is inf or NaN at this scale."""
        return not all(bool(torch.isfinite(gradient).all()) for gradient in self.scaled_gradients(update, scale))


def scaler_cases(seed: int) -> tuple[ScalerCase, ...]:
    """Three settings.

    The history with infinities at 2 and 9, in the first parameter, and two growths in a row after them; gradients that
    fp16 cannot hold at the first scales, so that the scale falls until they fit and then tries again and again; two
    groups with growth after every good update, and NaN in the last parameter that has a gradient.
    """
    draw = random.Random(seed)
    infinity, no_number = float("inf"), float("nan")
    first, second = draw.sample(range(2, 7), 2)
    return (
        ScalerCase(2.0**16, 4, 18, 1e-3, ((2, 0, infinity), (9, 0, -infinity)), False, seed),
        ScalerCase(2.0**16, draw.choice((2, 3)), 16, draw.choice((2.0, 5.0, 9.0)), (), False, seed + 1),
        ScalerCase(2.0**9, 1, 8, 0.1, ((first, 2, no_number), (second, 2, infinity)), True, seed + 2),
    )
