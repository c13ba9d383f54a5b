"""Sizes of a transformer layer whose activations are derived."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class LayerCase:
    """One transformer layer and its input.

    Attributes:
        batch: Sequences.
        time: Tokens of each sequence.
        width: Features of a token.
        heads: Attention heads.
    """

    batch: int
    time: int
    width: int
    heads: int


def layer_cases(seed: int) -> tuple[LayerCase, ...]:
    """Return four settings: scores that weigh little, as much as the rest and more, and a single head."""
    draw = random.Random(seed)
    return (
        LayerCase(draw.randrange(2, 6), 64, 64 * draw.randrange(2, 4), heads=4),
        LayerCase(draw.randrange(3, 9), 32 * draw.randrange(9, 13), 32 * draw.randrange(6, 9), heads=8),
        LayerCase(1, 48 * draw.randrange(8, 12), 48 * draw.randrange(4, 6), heads=6),
        LayerCase(draw.randrange(5, 12), 40 * draw.randrange(7, 12), 8 * draw.randrange(9, 12), heads=1),
    )
