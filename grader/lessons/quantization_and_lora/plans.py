"""Linear layers of which a plan keeps the weights in 4 bits and trains adapters."""

from __future__ import annotations

import random
from dataclasses import dataclass

Layer = tuple[int, int, bool]  # inputs, outputs, whether it gets an adapter


@dataclass(frozen=True)
class PlanCase:
    """A model and how it is quantized and adapted.

    Attributes:
        layers: The linear layers.
        rank: Of each adapter.
        block_size: Weights that share a scale.
        second_block_size: Scales that share a second scale; None for float32 scales.
    """

    layers: tuple[Layer, ...]
    rank: int
    block_size: int
    second_block_size: int | None


def plan_cases(seed: int) -> tuple[PlanCase, ...]:
    """Five settings.

    One square layer, as in the lesson, once and with scales of its scales; a transformer layer of which two matrices
    are adapted; layers with short last blocks on both levels, one with an odd number of weights; other block sizes.
    """
    draw = random.Random(seed)
    width = 64 * draw.randrange(6, 12)
    attention = tuple((width, width, index % 2 == 0) for index in range(4))
    feed_forward = ((width, 4 * width, False), (4 * width, width, False))
    odd = ((100, 2 * draw.randrange(30, 38), True), (34, 50, True), (2 * draw.randrange(10, 17) + 1, 7, False))
    return (
        PlanCase(((768, 768, True),), 8, 64, None),
        PlanCase(((768, 768, True),), 8, 64, 256),
        PlanCase((*attention, *feed_forward), draw.choice((4, 16)), 64, 256),
        PlanCase(odd, draw.choice((2, 3)), 48, draw.choice((16, 20))),
        PlanCase(((width, 3 * width, True), (512, width, False)), draw.choice((6, 12)), draw.choice((32, 128)), None),
    )
