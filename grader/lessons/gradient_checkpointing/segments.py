"""Chains of blocks, every k of them in one checkpoint, whose peak is predicted."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from grader.testbed.blocks import make_thin_blocks

FLOAT32_BYTES = 4


@dataclass(frozen=True)
class SegmentsCase:
    """A chain of alike blocks, every `k` of them in one checkpoint.

    Attributes:
        blocks: How many blocks there are; a multiple of `k`.
        width: Features of every layer.
        layers: Linear and Tanh in a block; 1 leaves no interior.
        batch: Rows of the input.
        k: Blocks in one checkpoint.
    """

    blocks: int
    width: int
    layers: int
    batch: int
    k: int

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all weights and biases."""
        return FLOAT32_BYTES * self.blocks * self.layers * (self.width**2 + self.width)

    @property
    def boundary_bytes(self) -> int:
        """Bytes of the input of a block, which is the output of the one before."""
        return FLOAT32_BYTES * self.batch * self.width

    @property
    def interior_bytes(self) -> int:
        """Bytes that backward needs of a block besides its input and its output."""
        return (self.layers - 1) * self.boundary_bytes

    def prepare(self) -> dict[str, Any]:
        """Build forward and backward, as `measure_peak_memory` and `forecast_peak_memory` take them."""
        model = make_thin_blocks(self.blocks, self.width, layers=self.layers)
        inputs = torch.zeros(self.batch, self.width)  # [batch, width]

        def run(states: torch.Tensor) -> torch.Tensor:
            for start in range(0, self.blocks, self.k):
                states = checkpoint(model[start : start + self.k], states, use_reentrant=False)
            return states

        def step() -> None:
            model.zero_grad()
            outputs = run(inputs)
            torch.autograd.backward(outputs.sum())

        return {"step": step, "model": model, "inputs": inputs}


def segments_cases(seed: int) -> tuple[SegmentsCase, ...]:
    """Four settings: short and long segments of thin blocks, blocks with an interior, and all blocks in one checkpoint.

    The first and the third have the same `k`, and the first and the second the same blocks.
    """
    draw = random.Random(seed)
    width, batch = 8 * draw.randrange(4, 7), 128 * draw.randrange(20, 28)
    blocks, k = draw.choice((36, 48, 60)), draw.choice((3, 4))
    whole = draw.choice((20, 28))
    return (
        SegmentsCase(blocks, width, 1, batch, k),
        SegmentsCase(blocks, width, 1, batch, draw.choice((12, blocks // 2))),
        SegmentsCase(24, width, draw.choice((2, 3)), batch, k),
        SegmentsCase(whole, width, 2, batch, whole),
    )
