"""Sentence pairs that are trained on with 8-bit Adam, with Accelerate and with the Trainer."""

from __future__ import annotations

import random

from grader.cases.adamw import DecayFormsCase


def eight_bit_forms_cases(seed: int) -> tuple[DecayFormsCase, ...]:
    """Two settings that differ in all sizes."""
    draw = random.Random(seed + 1)
    return (
        DecayFormsCase(4, 5, 1e-3, 0.5, seed + 9),
        DecayFormsCase(draw.choice((3, 5)), 4, draw.choice((2e-3, 3e-3)), draw.choice((0.2, 0.3)), seed + 10),
    )
