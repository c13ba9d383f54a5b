"""Training runs, published in the way that reports publish them, whose utilization is asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedRun:
    """What a report says of a training run.

    Attributes:
        parameters: Of the model, without embeddings.
        layers: Blocks.
        width: Heads times features of a head.
        time: Positions of a sequence.
        tokens_per_second: Of all devices together.
        devices: How many.
        datasheet_flops_per_second: Of one device, as its datasheet says.
        is_sparse: Whether that figure assumes 2:4 sparsity.
        is_checkpointed: Whether every block was checkpointed.
    """

    parameters: float
    layers: int
    width: int
    time: int
    tokens_per_second: float
    devices: int
    datasheet_flops_per_second: float
    is_sparse: bool
    is_checkpointed: bool

    @property
    def arguments(self) -> tuple[float | int | bool, ...]:
        """The arguments of the learner's function, in order."""
        model = (self.parameters, self.layers, self.width, self.time)
        device = (self.devices, self.datasheet_flops_per_second, self.is_sparse)
        return (*model, self.tokens_per_second, *device, self.is_checkpointed)


def published_runs(seed: int) -> tuple[PublishedRun, ...]:
    """Three runs: PaLM's, one with a long context that is checkpointed, and one whose datasheet assumes sparsity."""
    draw = random.Random(seed)
    long = 8192 * draw.randrange(2, 5)
    rate = draw.uniform(8_000, 14_000)
    return (
        PublishedRun(540.35e9, 118, 12_288, 2048, 238_300, 6144, 275e12, False, True),
        PublishedRun(6.5e9, 32, 4096, long, rate * 8, 64, 312e12, False, True),
        PublishedRun(2.7e9, 32, 2560, 2048, draw.uniform(1.5e5, 2.5e5), 8, 1979e12, True, False),
    )
