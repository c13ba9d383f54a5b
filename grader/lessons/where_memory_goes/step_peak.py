"""Chains whose peak is predicted from the kinds of memory alone."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch

from grader.testbed.chain import make_chain


@dataclass(frozen=True)
class ChainStep:
    """One AdamW update of a chain, whose peak is asked for.

    Attributes:
        blocks: Blocks of Linear(width, hidden), GELU, Linear(hidden, width), each with biases.
        width: Features of the input and between the blocks.
        hidden: Features inside a block; at least four times `width`.
        batch: Rows of the input.
    """

    blocks: int
    width: int
    hidden: int
    batch: int

    def prepare(self) -> dict[str, Any]:
        """Build the update, as `measure_peak_memory` and `forecast_peak_memory` take it."""
        model = make_chain(self.blocks, self.width, self.hidden)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        inputs = torch.zeros(self.batch, self.width)  # [batch, width]

        def step() -> None:
            optimizer.zero_grad()
            model(inputs).square().mean().backward()  # no name keeps the loss until the update
            optimizer.step()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}


def step_cases(seed: int) -> tuple[ChainStep, ...]:
    """Return four settings, with the peak in backward, in the update, in backward, in the update.

    The lesson's own batch of 228 rows does not tell the two moments apart: the first has fewer rows, the last more. All
    have so many blocks that what one operation needs for a moment is about 1 % of the peak.
    """
    draw = random.Random(seed)
    blocks, width = draw.randrange(40, 50), 16 * draw.randrange(3, 6)
    odd, broad = draw.randrange(41, 60, 2), 8 * draw.randrange(41, 50)
    wide = draw.choice((5, 6)) * odd
    return (
        ChainStep(blocks, width, 4 * width, batch=2 * width + draw.randrange(-4, 4)),
        ChainStep(blocks, width, 4 * width, batch=width // 8 + draw.randrange(-3, 4)),
        ChainStep(draw.randrange(40, 60), odd, wide, batch=3 * wide + draw.randrange(16)),
        ChainStep(draw.randrange(40, 60), broad, 7 * broad, batch=73 * broad // 100 + draw.randrange(8)),
    )
