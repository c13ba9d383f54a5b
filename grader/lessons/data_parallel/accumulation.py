"""Micro-batches of several ranks, in groups that make one update."""

from __future__ import annotations

import random
from dataclasses import dataclass

from torch import nn

from grader.testbed.regressions import MicroBatch, draw_micro_batches, make_regression

_ROWS = (6, 7)  # no size of a group and no number of ranks, so that each factor of a gradient has one cause
_LEARNING_RATES = (0.02, 0.03)  # not the notebook's, so that an optimizer of the learner's own shows


@dataclass(frozen=True)
class AccumulationCase:
    """Equal micro-batches that the ranks share out, in groups of `k`, the last of which may be shorter.

    Attributes:
        world_size: How many ranks.
        micro_batches: How many each rank has.
        k: How many of a rank make one update.
        rows: Rows of each.
        features: Features of a row.
        learning_rate: Of SGD.
        seed: Seed of data and weights.
    """

    world_size: int
    micro_batches: int
    k: int
    rows: int
    features: int
    learning_rate: float
    seed: int

    def make_model(self) -> nn.Sequential:
        """Build a small regression model, the same on every rank."""
        return make_regression(self.features, self.seed)

    def make_micro_batches(self) -> list[MicroBatch]:
        """Draw inputs [rows, features] and targets [rows, 1] for all ranks; each micro-batch has another mean."""
        return draw_micro_batches(self.world_size * self.micro_batches, self.rows, self.features, self.seed)


def accumulation_cases(seed: int) -> tuple[AccumulationCase, ...]:
    """Four settings: a short last group on two ranks, a last group of one on three, full groups, fewer than `k`."""
    draw = random.Random(seed)
    rows, features, learning_rate = draw.choice(_ROWS), draw.randrange(3, 9), draw.choice(_LEARNING_RATES)
    k = draw.choice((3, 5))
    shape = (rows, features, learning_rate)
    return (
        AccumulationCase(2, 6, 4, *shape, seed),
        AccumulationCase(3, 2 * k + 1, k, *shape, seed + 1),
        AccumulationCase(4, 4, 2, *shape, seed + 2),
        AccumulationCase(2, 2, 3, *shape, seed + 3),
    )
