"""Runs of local SGD whose synchronisations are predicted, and whether they equal data parallel training."""

from __future__ import annotations

import random
from dataclasses import dataclass

PLAIN, MOMENTUM, CLIPPED, ADAMW = OPTIMIZERS = ("SGD", "SGD with momentum", "SGD with clipping", "AdamW")


@dataclass(frozen=True)
class SynchronisationsCase:
    """One run.

    Attributes:
        micro_batches: How many each rank has.
        k: How many of them make one update; the last group may be shorter.
        every: The ranks average after so many updates.
        optimizer: One of `OPTIMIZERS`.
    """

    micro_batches: int
    k: int
    every: int
    optimizer: str


def synchronisations_cases(seed: int) -> tuple[SynchronisationsCase, ...]:
    """Fifteen settings.

    A final average that is needed, and one that is not; a short last group that makes the last update, and one that
    decides whether a final average is needed; an average after every update, with each optimizer, and with short last
    groups of less and of more than half; a single update; several updates, and one average at their end.
    """
    draw = random.Random(seed)
    every, rounds, k = draw.choice((6, 8)), draw.randrange(5, 9), draw.choice((2, 4))
    odd = draw.choice((3, 5))
    rounds += 4 * (seed % 8)  # every count follows from it, so few seeds share the notebook's
    return (
        SynchronisationsCase(every * rounds + every // 2, 1, every, PLAIN),
        SynchronisationsCase(every * rounds, 1, every, MOMENTUM),
        SynchronisationsCase(k * (every * rounds + 3), k, every, PLAIN),
        SynchronisationsCase(odd * every * rounds + 1, odd, every, ADAMW),
        SynchronisationsCase(odd * every * rounds - 1, odd, every, MOMENTUM),
        *(SynchronisationsCase(odd * rounds + 1, odd, 1, optimizer) for optimizer in OPTIMIZERS[:3]),
        SynchronisationsCase(odd * rounds + odd - 1, odd, 1, ADAMW),
        SynchronisationsCase(k, k, every, PLAIN),
        SynchronisationsCase(odd - 1, odd, every, MOMENTUM),
        SynchronisationsCase(k, k, every, ADAMW),
        SynchronisationsCase(rounds + 1, 1, 1, PLAIN),
        SynchronisationsCase(k * (every - 2), k, every, PLAIN),
        SynchronisationsCase(odd * every - 1, odd, every, MOMENTUM),
    )
