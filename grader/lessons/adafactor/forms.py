"""Sentence pairs that are trained on with Adafactor, with Accelerate and with the Trainer."""

from __future__ import annotations

import random

from grader.testbed.pair_runs import ShortEpochCase


def adafactor_forms_cases(seed: int) -> tuple[ShortEpochCase, ...]:
    """Two settings that differ in all sizes; nothing decays, and no epoch is a multiple of its batches."""
    draw = random.Random(seed)
    return (
        ShortEpochCase(4, 5, 1e-3, 0.0, seed + 11),
        ShortEpochCase(draw.choice((3, 5)), 4, draw.choice((2e-3, 3e-3)), 0.0, seed + 12),
    )
