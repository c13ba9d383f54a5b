"""Weights and gradients that an optimizer written by hand takes steps on."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from grader.testbed.optimizer_steps import HALVED_AT, STEPS, UpdateCase


@dataclass(frozen=True)
class GroupsCase(UpdateCase):
    """Groups with options of their own, which change on the way, and gradients that are missing or zero at times.

    Attributes:
        group_betas: Of each group, in place of `betas`.
        group_eps: Of each group, in place of `eps`.
        missing: The steps at which a tensor has no gradient, though it has had one.
        silent: The steps at which every number of a tensor's gradient is zero.
    """

    group_betas: tuple[tuple[float, float], ...] = ()
    group_eps: tuple[float, ...] = ()
    missing: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    silent: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def gradients(self, step: int) -> list[Tensor | None]:
        """Draw the gradients of a step, counted from 1."""
        drawn = super().gradients(step)
        for index, gradient in enumerate(drawn):
            if step in self.missing.get(index, ()):
                drawn[index] = None
            elif gradient is not None and step in self.silent.get(index, ()):
                drawn[index] = torch.zeros_like(gradient)
        return drawn

    def options(self, group: int, step: int) -> dict[str, Any]:
        """Return the options of a group at a step, counted from 1: at the half, a schedule changes all four."""
        (beta1, beta2), eps, decay = self.group_betas[group], self.group_eps[group], self.decays[group]
        if step >= HALVED_AT:
            beta1, beta2, eps, decay = 1.5 * beta1 - 0.5, 1.5 * beta2 - 0.5, 2 * eps, decay / 2
        rate = self.learning_rate(group, step)
        return {"lr": rate, "betas": (beta1, beta2), "eps": eps, "weight_decay": decay}


def adam_cases(seed: int) -> tuple[UpdateCase, ...]:
    """Three settings without decay: as in the lesson, an epsilon that counts, and other betas on three dimensions."""
    draw = random.Random(seed)
    wide, tall = draw.randrange(5, 9), draw.randrange(3, 5)
    other = (draw.choice((0.6, 0.7, 0.75, 0.8)), draw.choice((0.94, 0.95, 0.96, 0.97)))
    return (
        _single_group(((tall, wide), (wide,)), 0.05, 0.0, (0.9, 0.999), 1e-8, 1.0, seed),
        _single_group(((wide, tall), (tall,)), 0.02, 0.0, (0.9, 0.99), draw.choice((2e-3, 5e-3)), 0.01, seed + 1),
        _single_group(((2, tall, wide), (1,)), 0.1, 0.0, other, 1e-3, 0.1, seed + 2),
    )


def adamw_cases(seed: int) -> tuple[UpdateCase, ...]:
    """Three settings.

    One group with decay; no decay and an epsilon that counts; two groups whose four options are their own and change on
    the way, with a tensor between others that never has a gradient, one whose gradients begin later, one that has none
    at two steps, and one whose gradient is zero at two steps.
    """
    draw = random.Random(seed + 3)
    wide, tall = draw.randrange(5, 9), draw.randrange(3, 5)
    return (
        _single_group(((wide, tall), (tall,)), 0.05, draw.randrange(20, 40) / 100, (0.9, 0.999), 1e-8, 1.0, seed + 4),
        _single_group(((tall, wide), (1,)), 0.02, 0.0, (0.8, 0.99), draw.choice((2e-3, 5e-3)), 0.01, seed + 5),
        GroupsCase(
            shapes=((tall, wide), (wide,), (2, tall), (tall,), (wide, tall), (tall + 1,)),
            groups=(0, 1, 0, 1, 0, 1),
            learning_rates=(draw.choice((0.04, 0.05)), draw.choice((0.015, 0.03))),
            decays=(0.4, 0.1),
            betas=(0.9, 0.95),
            eps=0.05,
            gradient_size=0.2,
            first_steps={2: STEPS + 1, 4: draw.randrange(4, 8)},
            is_halved=True,
            seed=seed + 6,
            group_betas=((0.9, 0.95), (0.8, 0.98)),
            group_eps=(0.05, 0.02),
            missing={3: (9, 10)},
            silent={5: (6, 7)},
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
) -> UpdateCase:
    groups = (0,) * len(shapes)
    return UpdateCase(shapes, groups, (learning_rate,), (decay,), betas, eps, gradient_size, {}, False, seed)
