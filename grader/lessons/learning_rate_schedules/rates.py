"""Runs whose learning rates are asked for, update by update."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

SCHEDULES: Final = ("linear", "cosine", "exponential", "step", "inverse_square_root", "wsd")


@dataclass(frozen=True)
class RunCase:
    """The length of a run.

    Attributes:
        updates: All updates, the warm-up included; a multiple of 5.
        warm_up: Updates of the warm-up; the others are a multiple of 3.
        peak: The learning rate at the end of the warm-up.
    """

    updates: int
    warm_up: int
    peak: float


def run_cases(seed: int) -> tuple[RunCase, ...]:
    """Three runs: a short warm-up, one that takes a third of the run, and one of a single update."""
    draw = random.Random(seed)
    length = 45 * draw.randrange(1, 3)
    single = 30 * draw.randrange(1, 3) + 10  # one less is a multiple of 3
    return (
        RunCase(60, 6, 0.1),
        RunCase(length, length // 3, draw.choice((3e-4, 2e-3, 0.7))),
        RunCase(single, 1, draw.choice((5e-5, 0.01))),
    )
