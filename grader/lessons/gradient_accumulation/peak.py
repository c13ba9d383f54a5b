"""Chains whose peak memory is predicted."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch

from grader.lessons.gradient_accumulation.loops import LEARNING_RATE
from grader.testbed.chain import make_chain

FLOAT32_BYTES = 4


@dataclass(frozen=True)
class PeakCase:
    """One chain, trained on a batch in `k` micro-batches, whose peak is asked for.

    Attributes:
        blocks: Blocks of Linear(width, 4 width), GELU, Linear(4 width, width).
        width: Features between the blocks.
        batch: Rows of the whole batch; a multiple of `k`.
        k: Micro-batches.
        is_adamw: AdamW with its two states for each parameter, or SGD, which has none.
    """

    blocks: int
    width: int
    batch: int
    k: int
    is_adamw: bool

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all weights and biases."""
        return FLOAT32_BYTES * self.blocks * (8 * self.width**2 + 5 * self.width)

    @property
    def state_bytes(self) -> int:
        """Bytes of the optimizer's two moments; its step counters are 4 bytes for each tensor and left out."""
        return 2 * self.parameter_bytes if self.is_adamw else 0

    @property
    def activation_bytes(self) -> int:
        """Bytes that autograd keeps for the whole batch: of each block its output and two tensors inside."""
        return FLOAT32_BYTES * self.blocks * self.batch * 9 * self.width

    def prepare(self) -> dict[str, Any]:
        """Build the update, as `measure_peak_memory` and `forecast_peak_memory` take it."""
        model = make_chain(self.blocks, self.width, 4 * self.width)
        optimizer: torch.optim.Optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, foreach=False)
        if self.is_adamw:
            optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        inputs = torch.zeros(self.batch, self.width)  # [batch, width]

        def step() -> None:
            optimizer.zero_grad()
            for rows in inputs.chunk(self.k):
                (model(rows).square().mean() / self.k).backward()
            optimizer.step()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}


def peak_cases(seed: int) -> tuple[PeakCase, ...]:
    """Four settings: the peak comes at another moment in each, and the last has no optimizer state."""
    draw = random.Random(seed)
    width, blocks = 16 * draw.randrange(8, 13), draw.randrange(16, 21)
    return (
        PeakCase(blocks, width, batch=4 * width, k=4, is_adamw=True),
        PeakCase(blocks, width, batch=2 * width, k=1, is_adamw=True),
        PeakCase(blocks, width, batch=width // 4, k=1, is_adamw=True),
        PeakCase(blocks, width, batch=2 * width, k=2, is_adamw=False),
    )
