"""Jobs whose bytes per rank and bytes sent are predicted."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class ShardingJob:
    """A model in mixed precision on several ranks.

    Attributes:
        parameters: How many the model has.
        ranks: How many share them.
        stage: 0 for plain data parallel, or the ZeRO stage.
        state_bytes: Bytes of optimizer state per parameter, master weights included.
        k: Micro-batches of one update.
    """

    parameters: int
    ranks: int
    stage: int
    state_bytes: int
    k: int


def sharding_jobs(seed: int) -> tuple[ShardingJob, ...]:
    """Return eleven jobs: each stage without and with accumulation, and other optimizers on few ranks."""
    draw = random.Random(seed)
    millions = draw.randrange(10, 75) * 144  # so that every share but the last job's is a whole number
    parameters, k = millions * 1_000_000, draw.choice((3, 5, 6))
    few, many = draw.choice((2, 3)), draw.choice((8, 16, 32))
    return (
        *(ShardingJob(parameters, many, stage, 12, 1) for stage in range(4)),
        *(ShardingJob(parameters, few, stage, 8, k) for stage in range(4)),
        ShardingJob(parameters // 12, 4, 1, 6, 1),
        ShardingJob(parameters // 12, 6, 2, 4, k - 1),
        ShardingJob(12 * draw.randrange(80, 100) + 5, 12, 3, 6, k + 1),  # shares that are no whole numbers
    )
