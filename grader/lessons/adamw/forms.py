"""Sentence pairs that are trained on with AdamW and two groups, with Accelerate or with the Trainer."""

from __future__ import annotations

import random

from grader.testbed.pair_runs import DecayCase


def decay_forms_cases(seed: int) -> tuple[DecayCase, ...]:
    """Two settings that differ in all sizes; no epoch is a multiple of its batches."""
    draw = random.Random(seed)
    return (
        DecayCase(4, 5, 1e-3, seed + 7, 0.5),
        DecayCase(draw.choice((3, 5)), 4, draw.choice((2e-3, 3e-3)), seed + 8, draw.choice((0.2, 0.3))),
    )
