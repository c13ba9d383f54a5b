"""Groups of micro-batches that are trained on in fp16, and now and then overflow."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import nn

from grader.testbed.chain import make_chain
from grader.testbed.regressions import MicroBatch, draw_micro_batches, make_regression

FP16_LEARNING_RATE = 0.01

# A target so far away that its gradient exceeds fp16 at any scale above 2**5.
FAR_AWAY = 20_000.0


@dataclass(frozen=True)
class GroupCase:
    """Updates in fp16, each from one group of equal micro-batches.

    Attributes:
        start_scale: The scale of the first update.
        growth_interval: Good updates in a row after which the scale doubles.
        group_sizes: Micro-batches of each update.
        overflowing: The updates whose gradient exceeds fp16.
        max_norm: The largest norm that a gradient keeps.
        rows: Rows of a micro-batch.
        features: Features of a row.
        seed: Seed of data and weights.
    """

    start_scale: float
    growth_interval: int
    group_sizes: tuple[int, ...]
    overflowing: tuple[int, ...]
    max_norm: float
    rows: int
    features: int
    seed: int

    def make_model(self) -> nn.Sequential:
        """Build a small regression model."""
        return make_regression(self.features, self.seed, hidden=16, outputs=2)

    def make_group(self, update: int) -> list[MicroBatch]:
        """Draw inputs [rows, features] and targets [rows, 2] of every micro-batch of one update.

        The micro-batches of a group differ in their mean. In an update that overflows, one micro-batch does, the first.
        """
        count, seed = self.group_sizes[update], 1000 * self.seed + update
        group = draw_micro_batches(count, self.rows, self.features, seed, outputs=2)
        if update in self.overflowing:
            inputs, targets = group[0]
            group[0] = inputs, targets + FAR_AWAY
        return group


def group_cases(seed: int) -> tuple[GroupCase, ...]:
    """Two settings.

    Groups of equal size, infinities at 2 and 9 with growth after 4, and a small largest norm that clips every update;
    groups of unequal sizes, one of them a single micro-batch, growth after 2, and a largest norm that clips none.
    """
    draw = random.Random(seed)
    rows, features = draw.choice((3, 5)), draw.randrange(3, 8)
    sizes = [1, 3, 2, 4, 2, 3, 1, 2]
    draw.shuffle(sizes)
    first = draw.randrange(1, 5)
    return (
        GroupCase(2.0**12, 4, (2,) * 14, (2, 9), 0.25, rows, features, seed),
        GroupCase(2.0**10, 2, tuple(sizes), (first, first + 3), 1e4, rows, features, seed + 1),
    )


@dataclass(frozen=True)
class DeviceCase:
    """A deep chain in fp16, whose first layers have gradients below fp16's smallest number unless they are scaled.

    Attributes:
        blocks: Blocks of Linear(width, 4 width), GELU, Linear(4 width, width).
        width: Features between the blocks.
        rows: Rows of each micro-batch.
        updates: How many micro-batches there are, each with an update of its own.
        overflowing: The update whose gradient exceeds fp16.
        large: The update whose gradient has a norm above 1, and fits into fp16 up to a scale of 2**18.
        seed: Seed of data and weights.
    """

    blocks: int
    width: int
    rows: int
    updates: int
    overflowing: int
    large: int
    seed: int

    def make_model(self) -> nn.Sequential:
        """Build the chain."""
        return make_chain(self.blocks, self.width, 4 * self.width, seed=self.seed)

    def make_micro_batches(self) -> list[MicroBatch]:
        """Draw inputs and targets [rows, width]."""
        generator = torch.Generator().manual_seed(self.seed)
        drawn = []
        for update in range(self.updates):
            inputs = torch.randn(self.rows, self.width, generator=generator)
            targets = torch.randn(self.rows, self.width, generator=generator)
            shift = 1e7 if update == self.overflowing else 3.0 if update == self.large else 0.0
            drawn.append((inputs, targets + shift))
        return drawn


def device_cases(seed: int) -> tuple[DeviceCase, ...]:
    """Two settings: one with an update that overflows; a deeper one with a gradient of norm above 1."""
    draw = random.Random(seed)
    return (
        DeviceCase(8, 32, draw.randrange(24, 41), 5, draw.randrange(1, 4), -1, seed),
        DeviceCase(draw.randrange(9, 11), 32, 32, 3, -1, 1, seed + 1),
    )
