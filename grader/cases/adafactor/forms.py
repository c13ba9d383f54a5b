"""Sentence pairs that are trained on with Adafactor, with Accelerate and with the Trainer."""

from __future__ import annotations

import random

from grader.cases.adamw import DecayFormsCase


def adafactor_forms_cases(seed: int) -> tuple[DecayFormsCase, ...]:
    """Two settings that differ in all sizes; nothing decays."""
    draw = random.Random(seed)
    return (
        DecayFormsCase(4, 5, 1e-3, 0.0, seed + 11),
        DecayFormsCase(draw.choice((3, 5)), 4, draw.choice((2e-3, 3e-3)), 0.0, seed + 12),
    )
