"""Models with experts in some of their blocks, by their sizes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any


@dataclass(frozen=True)
class CostCase:
    """The sizes of one model.

    Attributes:
        layers: Blocks.
        every: The last block of each group of so many has experts.
        width: Features of a token.
        hidden: Features within a feed-forward part.
        experts: Feed-forward parts of a block with experts.
        chosen: Experts that a token is sent to.
    """

    layers: int
    every: int
    width: int
    hidden: int
    experts: int
    chosen: int


def cost_cases(seed: int) -> tuple[CostCase, ...]:
    """A model as in the notebook; experts in all blocks, a short last group, one expert, and no full group at all."""
    draw = random.Random(seed)
    width = draw.choice((96, 128, 160))
    return (
        CostCase(12, 2, 768, 3072, 8, 2),
        CostCase(draw.randrange(3, 9), 1, width, 3 * width, draw.choice((4, 16)), 1),
        CostCase(draw.choice((7, 10, 13)), 3, 2 * width, 5 * width, draw.choice((6, 12)), 3),
        CostCase(draw.choice((4, 6)), 2, width, 2 * width, 1, 1),
        CostCase(2, draw.choice((3, 4)), width, 4 * width, 8, 2),
    )


def run_costs(expert_costs: Callable[..., Any], case: CostCase) -> Any:
    """Ask for the costs of one model."""
    return expert_costs(*astuple(case))
