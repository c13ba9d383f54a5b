"""Equal micro-batches, in a list and as a stream."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.testbed.regressions import MicroBatch, draw_micro_batches, make_regression

LEARNING_RATE = 0.1


@dataclass(frozen=True)
class UpdatesCase:
    """Equal micro-batches in groups of `k`, the last of which may be shorter.

    Attributes:
        micro_batches: How many there are.
        k: How many make one update.
        rows: Rows of each.
        features: Features of a row.
        seed: Seed of data and weights.
        loss_function: Takes outputs and targets, and returns the mean over the rows.
        earlier_gradient: What every element of `.grad` holds at the start; None where there is no `.grad`.
    """

    micro_batches: int
    k: int
    rows: int
    features: int
    seed: int
    loss_function: Callable[[Tensor, Tensor], Tensor] = F.mse_loss
    earlier_gradient: float | None = None

    def make_model(self) -> nn.Sequential:
        """Build a small regression model, with the gradient that an earlier run left."""
        model = make_regression(self.features, self.seed)
        for parameter in model.parameters():
            if self.earlier_gradient is not None:
                parameter.grad = torch.full_like(parameter, self.earlier_gradient)
        return model

    def make_micro_batches(self) -> list[MicroBatch]:
        """Draw inputs [rows, features] and targets [rows, 1]; their mean differs from one micro-batch to the next."""
        return draw_micro_batches(self.micro_batches, self.rows, self.features, self.seed)


def updates_cases(seed: int) -> tuple[UpdatesCase, ...]:
    """Four settings: a short last group, a last group of one, full groups only, and fewer micro-batches than `k`.

    An earlier run has left a gradient in the second; the loss of the last is not symmetric in its arguments.
    """
    draw = random.Random(seed)
    rows, features = draw.randrange(2, 6), draw.randrange(3, 9)
    k = draw.choice((3, 5))
    return (
        UpdatesCase(10, 4, rows, features, seed),
        UpdatesCase(2 * k + 1, k, rows, features, seed + 1, earlier_gradient=1.0),
        UpdatesCase(2 * k, k, rows, features, seed + 6),
        UpdatesCase(3, 5, rows, features, seed + 2, F.poisson_nll_loss),
    )


def stream_cases(seed: int) -> tuple[UpdatesCase, ...]:
    """Three settings for a stream of unknown length: a short last group, none, and a stream that ends at once."""
    draw = random.Random(seed)
    rows, features = draw.randrange(2, 6), draw.randrange(3, 9)
    k, groups = draw.choice((3, 5, 6)), draw.randrange(2, 4)
    return (
        UpdatesCase(10, 4, rows, features, seed + 3),
        UpdatesCase(groups * k, k, rows, features, seed + 4, F.poisson_nll_loss, earlier_gradient=1.0),
        UpdatesCase(1, k, rows, features, seed + 5),
    )
