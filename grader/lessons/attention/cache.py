"""Models whose key-value cache is predicted."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class CacheCase:
    """A decoder while it writes one sequence.

    Attributes:
        layers: Layers; a multiple of `global_every`.
        heads: Query heads of a layer.
        key_heads: Key and value heads of a layer; divides `heads`.
        head_dim: Features of a head.
        time: Positions so far.
        window: Positions that a local layer sees.
        global_every: Of so many layers in turn, the last one sees all positions; 1 for all layers.
        number_bytes: Bytes of a number.
    """

    layers: int
    heads: int
    key_heads: int
    head_dim: int
    time: int
    window: int
    global_every: int
    number_bytes: int


def cache_cases(seed: int) -> tuple[CacheCase, ...]:
    """Every layer global, local layers in between at a time that is no multiple of a window, and a short sequence."""
    draw = random.Random(seed)
    shape = (draw.choice((24, 36)), 16, draw.choice((2, 4)), draw.choice((96, 256)))
    window = draw.choice((600, 1000))
    return (
        CacheCase(40, 32, 8, 128, 8192, 4096, 1, 2),
        CacheCase(*shape, window * draw.randrange(5, 30) + draw.randrange(100, 400), window, draw.choice((4, 6)), 2),
        CacheCase(*shape, window - draw.randrange(100, 300), window, 2, draw.choice((1, 4))),
    )
