"""Tensors that are quantized to NF4 by blocks, and the code book."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.observing.contract import fail


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

    A matrix in blocks of 64, as in the lesson, large enough for 16-bit arithmetic to show; an odd number of numbers
    with a short last block and a block of zeros; three dimensions and other blocks; a tensor shorter than one block.
    """
    draw = random.Random(seed)
    return (
        CodesCase((draw.randrange(600, 700), 64), 64, False, seed),
        CodesCase((2 * draw.randrange(400, 500) + 1,), 64, True, seed + 1),
        CodesCase((3, draw.randrange(17, 23), 20), 32, True, seed + 2, 3.0),
        CodesCase((draw.randrange(20, 30), 2), 64, False, seed + 3),
    )


class LibraryQuantizerRefused(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Fails the check when the block runs an operator of bitsandbytes that quantizes."""

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        if function.namespace == "bitsandbytes" and "dequantize" not in function.name():
            look_at = "You call the quantizer of bitsandbytes. Write the lines that are left open."
            fail("library_quantizer", "codes and scales from lines of your own", "a call of bitsandbytes", look_at)
        return function(*arguments, **(keywords or {}))
