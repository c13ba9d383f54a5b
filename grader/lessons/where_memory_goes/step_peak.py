"""Chains whose peak is predicted to the byte."""

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
    """Return four settings: a large batch and a small one, as in the lesson, and two that it never shows.

    The peak is in backward, in the update, in backward, in the update. The third has sizes that are no powers of two,
    blocks of another shape, and a batch so large that a formula for backward shows even where it lacks activations.
    The last has one block.
    """
    draw = random.Random(seed)
    blocks, width = draw.randrange(5, 9), 16 * draw.randrange(7, 12)
    odd = draw.randrange(41, 60, 2)
    wide, single = draw.choice((5, 6)) * odd, 8 * draw.randrange(11, 19)
    return (
        ChainStep(blocks, width, 4 * width, batch=2 * width + draw.randrange(-16, 16)),
        ChainStep(blocks, width, 4 * width, batch=width // 8 + draw.randrange(-3, 4)),
        ChainStep(draw.randrange(5, 9), odd, wide, batch=4 * wide + draw.randrange(16)),
        ChainStep(1, single, 4 * single + draw.randrange(1, 40, 2), batch=single // 6 + draw.randrange(-3, 4)),
    )
