"""Tensors that are quantized to NF4 by blocks, and the code book."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import Tensor

from grader.observing.contract import fail

LIBRARY = "bitsandbytes.functional"


@dataclass(frozen=True)
class CodesCase:
    """A tensor and the numbers of a block.

    Attributes:
        shape: Of the tensor.
        block_size: Numbers that share a scale; the last block may be short.
        is_zero_block: Whether the second block holds zeros only.
        seed: Seed of the numbers.
        size: What all numbers are multiplied with.
    """

    shape: tuple[int, ...]
    block_size: int
    is_zero_block: bool
    seed: int
    size: float = 0.02

    @property
    def numbers(self) -> int:
        """How many numbers the tensor has."""
        return torch.Size(self.shape).numel()

    @property
    def blocks(self) -> int:
        """How many blocks they make."""
        return -(-self.numbers // self.block_size)

    def make_values(self) -> Tensor:
        """Draw the numbers; blocks differ in size, and the largest of some blocks is negative."""
        generator = torch.Generator().manual_seed(self.seed)
        values = torch.randn(self.numbers, generator=generator)
        sizes = 10 ** (2 * torch.rand(self.blocks, generator=generator) - 1)
        values *= sizes.repeat_interleave(self.block_size)[: self.numbers]
        values[:: self.block_size] = -4 * sizes
        if self.is_zero_block:
            values[self.block_size : 2 * self.block_size] = 0.0
        return self.size * values.view(self.shape)


def codes_cases(seed: int) -> tuple[CodesCase, ...]:
    """Four settings.

    A matrix in blocks of 64, as in the lesson; an odd number of numbers with a short last block and a block of zeros;
    three dimensions and other blocks; a tensor that is shorter than one block.
    """
    draw = random.Random(seed)
    return (
        CodesCase((draw.randrange(20, 40), 64), 64, False, seed),
        CodesCase((2 * draw.randrange(400, 500) + 1,), 64, True, seed + 1),
        CodesCase((3, draw.randrange(17, 23), 20), 32, True, seed + 2, 3.0),
        CodesCase((draw.randrange(20, 30), 2), 64, False, seed + 3),
    )


@contextlib.contextmanager
def refuse_library_quantizer() -> Iterator[None]:
    """Fail the check when the block calls a quantizer of bitsandbytes."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        look_at = "You call the quantizer of bitsandbytes. Write the lines that are left open."
        fail("library_quantizer", "codes and scales from lines of your own", "a call of bitsandbytes", look_at)

    module = sys.modules.get(LIBRARY)
    kept = getattr(module, "QuantState", None)  # what its quantizers return their scales in
    if module is not None:
        module.QuantState = refuse  # type: ignore[attr-defined]
    try:
        yield
    finally:
        if module is not None:
            module.QuantState = kept  # type: ignore[attr-defined]
