"""Runs of which a learner says whether a default of the Trainer leads them elsewhere."""

from __future__ import annotations

import random
from dataclasses import dataclass

DEFAULTS = ("sampling", "clipping", "schedule")


@dataclass(frozen=True)
class DefaultsCase:
    """One epoch.

    Attributes:
        updates: Updates of the epoch.
        largest_gradient_norm: The largest norm of the gradient at any update; never 1.
    """

    updates: int
    largest_gradient_norm: float


def defaults_cases(seed: int) -> tuple[DefaultsCase, ...]:
    """Return eight runs: one update, two, three and many, with norms on both sides of 1, some close to it."""
    draw = random.Random(seed)
    return (
        DefaultsCase(1, _draw_norm(draw, 20, 80)),
        DefaultsCase(draw.randrange(10, 60), _draw_norm(draw, 0.1, 0.6)),
        DefaultsCase(1, _draw_norm(draw, 0.1, 0.6)),
        DefaultsCase(2, _draw_norm(draw, 0.95, 0.99)),
        DefaultsCase(2, _draw_norm(draw, 1.01, 1.05)),
        DefaultsCase(3, _draw_norm(draw, 2, 6)),
        DefaultsCase(draw.randrange(200, 900), _draw_norm(draw, 20, 80)),
        DefaultsCase(1, _draw_norm(draw, 1.2, 1.9)),
    )


def _draw_norm(draw: random.Random, low: float, high: float) -> float:
    return round(draw.uniform(low, high), 3)
