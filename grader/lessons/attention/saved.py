"""Shapes of one attention, for which the bytes that backward needs are predicted."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class SavedCase:
    """One attention without mask and dropout.

    Attributes:
        is_fused: Whether one fused operator computes it, or else two products and a softmax.
        rows: Sequences of the batch.
        heads: Heads of each sequence.
        time: Positions of a sequence.
        head_dim: Features of a head.
        number_bytes: Bytes of a number of query, key and value.
    """

    is_fused: bool
    rows: int
    heads: int
    time: int
    head_dim: int
    number_bytes: int


def saved_cases(seed: int) -> tuple[SavedCase, ...]:
    """Four shapes, eager and fused: the notebook's, twice its time, 16 bits, and fewer positions than features."""
    draw = random.Random(seed)
    rows, heads = draw.choice((2, 3, 5)), draw.choice((6, 12, 16))
    shapes = (
        (1, 4, 1024, 64, 4),
        (1, 4, 2048, 64, 4),
        (rows, heads, 64 * draw.randrange(8, 20), 128, 2),
        (rows, heads, draw.choice((24, 40)), 96, 4),
    )
    return tuple(SavedCase(is_fused, *shape) for shape in shapes for is_fused in (False, True))
