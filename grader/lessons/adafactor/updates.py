"""Weights and gradients that an Adafactor written by hand takes steps on."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from grader.testbed.optimizer_steps import HALVED_AT, STEPS, UpdateCase

__all__ = ["STEPS", "AdafactorCase", "adafactor_cases"]

JUMP_AT = 9  # from this step on, counted from 1, gradients are larger
JUMP = 5.0


@dataclass(frozen=True)
class AdafactorCase(UpdateCase):
    """Tensors with a gradient for each of 20 steps; their sizes differ by row and column, and jump on the way.

    Attributes:
        betas: Of no use: Adafactor has none.
        eps: Of no use: each group has its own.
        group_eps: Of each group, added to each squared gradient.
        decay_rates: Of each group: the second moment forgets with 1 - step**decay_rate.
        clip_thresholds: Of each group.
        is_scaled: Of each group, whether the learning rate is scaled by the size of the weight.
        is_halved: Whether a schedule changes all options of all groups on the way.
        starts: The size of each tensor at the start; 1 where it is not said.
        sizes: What the gradients of a tensor are multiplied by; 1 where it is not said.
        missing: The steps at which a tensor has no gradient, though it has had one.
        silent: The steps at which every number of a tensor's gradient is zero.
    """

    group_eps: tuple[float, ...] = (1e-30,)
    decay_rates: tuple[float, ...] = (-0.8,)
    clip_thresholds: tuple[float, ...] = (1.0,)
    is_scaled: tuple[bool, ...] = (False,)
    starts: Mapping[int, float] = field(default_factory=dict)
    sizes: Mapping[int, float] = field(default_factory=dict)
    missing: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    silent: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def make_weights(self) -> list[Tensor]:
        """Draw the tensors at the start."""
        return [self.starts.get(index, 1.0) * weight for index, weight in enumerate(super().make_weights())]

    def gradients(self, step: int) -> list[Tensor | None]:
        """Draw the gradients of a step, counted from 1."""
        drawn: list[Tensor | None] = []
        for index, gradient in enumerate(super().gradients(step)):
            if gradient is None or step in self.missing.get(index, ()):
                drawn.append(None)
                continue
            for dimension, side in enumerate(gradient.shape):
                sides = [1] * gradient.dim()
                sides[dimension] = side
                gradient = gradient * torch.linspace(0.5, 2.0, side).view(sides)
            is_silent = step in self.silent.get(index, ())
            size = 0.0 if is_silent else self.sizes.get(index, 1.0) * (JUMP if step >= JUMP_AT else 1.0)
            drawn.append(gradient * size)
        return drawn

    def options(self, group: int, step: int) -> dict[str, Any]:
        """Return the options of a group at a step, counted from 1, as a learner reads them."""
        decay, eps, power = self.decays[group], self.group_eps[group], self.decay_rates[group]
        threshold, is_scaled = self.clip_thresholds[group], self.is_scaled[group]
        if self.is_halved and step >= HALVED_AT:
            decay, eps, power, threshold, is_scaled = decay / 2, 4 * eps, 0.75 * power, 0.6 * threshold, not is_scaled
        return {
            "lr": self.learning_rate(group, step),
            "weight_decay": decay,
            "eps": eps,
            "decay_rate": power,
            "clip_threshold": threshold,
            "scale_parameter": is_scaled,
        }


def adafactor_cases(seed: int) -> tuple[AdafactorCase, ...]:
    """Four settings.

    As the Trainer sets it, with weight decay, a square matrix, gradients near 1e-8, and a matrix whose gradient is zero
    at first; scaled by the weights, of which some are zero, with a stack of matrices, another decay, another threshold
    and an epsilon that counts; two groups whose six options are their own and change on the way, with a tensor between
    others that never has a gradient, one whose gradients begin later, one that has none at two steps, and one whose
    gradient is zero at two steps; a small learning rate, and a matrix with gradients near 1e-8.
    """
    draw = random.Random(seed + 11)
    wide, tall = draw.randrange(5, 9), draw.randrange(3, 5)
    decay, none = draw.randrange(20, 40) / 100, (0.9, 0.999)
    other = draw.choice((-0.5, -0.6, -0.7))
    return (
        AdafactorCase(
            shapes=((tall, wide), (wide,), (tall, tall), (tall,), (wide, tall)),
            groups=(0, 0, 0, 0, 0),
            learning_rates=(0.05,),
            decays=(decay,),
            betas=none,
            eps=0.0,
            gradient_size=1.0,
            first_steps={},
            is_halved=False,
            seed=seed,
            sizes={3: 1e-8},
            silent={4: (1,)},
        ),
        AdafactorCase(
            shapes=((2, tall, wide), (tall,), (wide, tall), ()),
            groups=(0, 0, 0, 0),
            learning_rates=(0.3,),
            decays=(0.0,),
            betas=none,
            eps=0.0,
            gradient_size=0.01,
            first_steps={},
            is_halved=False,
            seed=seed + 1,
            group_eps=(draw.choice((2e-5, 4e-5)),),
            decay_rates=(other,),
            clip_thresholds=(draw.choice((0.6, 0.7, 0.8)),),
            is_scaled=(True,),
            starts={0: 0.3, 1: 0.0, 2: 2.0},
        ),
        AdafactorCase(
            shapes=((tall, wide), (wide,), (wide, tall), (tall,), (2, tall), (tall + 1,), (2, 2, tall, wide)),
            groups=(0, 1, 1, 1, 0, 0, 1),
            learning_rates=(draw.choice((0.04, 0.05)), draw.choice((0.02, 0.03))),
            decays=(0.1, 0.4),
            betas=none,
            eps=0.0,
            gradient_size=0.2,
            first_steps={2: draw.randrange(4, 8), 4: STEPS + 1},
            is_halved=True,
            seed=seed + 2,
            group_eps=(1e-3, 5e-3),
            decay_rates=(-0.8, -0.6),
            clip_thresholds=(1.0, 4.0),
            is_scaled=(False, True),
            starts={3: 0.5},
            missing={3: (9, 10)},
            silent={0: (1,), 5: (6, 7)},
        ),
        AdafactorCase(
            shapes=((tall, wide), (wide,)),
            groups=(0, 0),
            learning_rates=(draw.choice((3e-4, 5e-4)),),
            decays=(0.0,),
            betas=none,
            eps=0.0,
            gradient_size=1.0,
            first_steps={},
            is_halved=False,
            seed=seed + 3,
            starts={0: 0.01, 1: 0.01},
            sizes={0: 1e-8},
        ),
    )
