"""Weights and gradients that an Adafactor written by hand takes steps on."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from grader.cases.adamw import STEPS, UpdateCase

__all__ = ["STEPS", "AdafactorCase", "adafactor_cases"]

JUMP_AT = 9  # from this step on, counted from 1, gradients are larger
JUMP = 5.0


@dataclass(frozen=True)
class AdafactorCase(UpdateCase):
    """Tensors with a gradient for each of 20 steps; their sizes differ by row and column, and jump on the way.

    Attributes:
        betas: Of no use: Adafactor has none.
        eps: Added to each squared gradient.
        decay_rate: The second moment forgets with 1 - step**decay_rate.
        clip_thresholds: Of each group.
        is_scaled: Of each group, whether the learning rate is scaled by the size of the weight.
        starts: The size of each tensor at the start; 1 where it is not said.
        silent: A tensor whose first gradient is zero everywhere; -1 for none.
    """

    decay_rate: float = -0.8
    clip_thresholds: tuple[float, ...] = (1.0,)
    is_scaled: tuple[bool, ...] = (False,)
    starts: Mapping[int, float] = field(default_factory=dict)
    silent: int = -1

    def make_weights(self) -> list[Tensor]:
        """Draw the tensors at the start."""
        return [self.starts.get(index, 1.0) * weight for index, weight in enumerate(super().make_weights())]

    def gradients(self, step: int) -> list[Tensor | None]:
        """Draw the gradients of a step, counted from 1."""
        drawn: list[Tensor | None] = []
        for index, gradient in enumerate(super().gradients(step)):
            if gradient is not None:
                for dimension, side in enumerate(gradient.shape):
                    sides = [1] * gradient.dim()
                    sides[dimension] = side
                    gradient = gradient * torch.linspace(0.5, 2.0, side).view(sides)
                gradient = gradient * (JUMP if step >= JUMP_AT else 1.0) * (index != self.silent or step > 1)
            drawn.append(gradient)
        return drawn

    def group_options(self, group: int) -> dict[str, Any]:
        """Return the options of a group, as a learner reads them."""
        return {
            "lr": self.learning_rates[group],
            "weight_decay": self.decays[group],
            "eps": self.eps,
            "decay_rate": self.decay_rate,
            "clip_threshold": self.clip_thresholds[group],
            "scale_parameter": self.is_scaled[group],
        }


def adafactor_cases(seed: int) -> tuple[AdafactorCase, ...]:
    """Three settings.

    As the Trainer sets it, with weight decay and a square matrix; scaled by the weights, of which some are zero, with a
    stack of matrices, another decay, another threshold and an epsilon that counts; two groups with options of their
    own, one tensor without any gradient, one whose gradients begin later, one whose first gradient is zero, and
    learning rates that are halved on the way.
    """
    draw = random.Random(seed + 11)
    wide, tall = draw.randrange(5, 9), draw.randrange(3, 5)
    decay, never = draw.randrange(20, 40) / 100, STEPS + 1
    none = (0.9, 0.999)
    other = draw.choice((-0.5, -0.6, -0.7))
    return (
        AdafactorCase(
            ((tall, wide), (wide,), (tall, tall)), (0, 0, 0), (0.05,), (decay,), none, 1e-30, 1.0, {}, False, seed
        ),
        AdafactorCase(
            shapes=((2, tall, wide), (tall,), (wide, tall), ()),
            groups=(0, 0, 0, 0),
            learning_rates=(0.3,),
            decays=(0.0,),
            betas=none,
            eps=draw.choice((2e-5, 4e-5)),
            gradient_size=0.01,
            first_steps={},
            is_halved=False,
            seed=seed + 1,
            decay_rate=other,
            clip_thresholds=(draw.choice((0.6, 0.7, 0.8)),),
            is_scaled=(True,),
            starts={0: 0.3, 1: 0.0, 2: 2.0},
        ),
        AdafactorCase(
            shapes=((tall, wide), (wide,), (wide, tall), (tall,), (2, tall)),
            groups=(0, 1, 1, 1, 0),
            learning_rates=(draw.choice((0.04, 0.05)), draw.choice((0.02, 0.03))),
            decays=(0.1, 0.4),
            betas=none,
            eps=1e-30,
            gradient_size=0.2,
            first_steps={2: draw.randrange(4, 8), 4: never},
            is_halved=True,
            seed=seed + 2,
            clip_thresholds=(1.0, 4.0),
            is_scaled=(False, True),
            starts={3: 0.5},
            silent=0,
        ),
    )
