"""What torch.amp.GradScaler does in a history that a learner's scaler lives through."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from grader.lessons.mixed_precision.scales import ScalerCase


@dataclass(frozen=True)
class Step:
    """What torch.amp.GradScaler does in one update.

    Attributes:
        scale_before: The scale that the gradients came with.
        scale_after: The scale of the next update.
        is_skipped: Whether a gradient was inf or NaN.
        gradient: The gradient that the optimizer is given, in one vector.
        weights: All weights after the update, in one vector.
    """

    scale_before: float
    scale_after: float
    is_skipped: bool
    gradient: Tensor
    weights: Tensor


@lru_cache(maxsize=8)
def reference_steps(case: ScalerCase) -> tuple[Step, ...]:
    """Run torch.amp.GradScaler through the whole history."""
    weights = case.make_weights()
    optimizer = case.make_optimizer(weights)
    scaler = torch.amp.GradScaler("cpu", init_scale=case.start_scale, growth_interval=case.growth_interval)
    scaler.scale(torch.zeros(()))
    steps = []
    for update in range(case.updates):
        before = scaler.get_scale()
        for weight, gradient in zip(weights, case.scaled_gradients(update, before), strict=False):
            weight.grad = gradient
        scaler.step(optimizer)
        scaler.update()
        flat = torch.cat([weight.detach().flatten() for weight in weights])
        true_gradient = torch.cat([gradient.flatten() for gradient in case.scaled_gradients(update, before)]) / before
        is_skipped = case.is_overflow(update, before)
        steps.append(Step(before, scaler.get_scale(), is_skipped, true_gradient, flat))
    return tuple(steps)
