"""Tensors that are quantized by blocks."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.testbed.block_codes import make_code_book

TINY = 1e-14  # second moments of gradients of 1e-7


@dataclass(frozen=True)
class BlockCase:
    """A tensor, a code book, and how many numbers share a scale.

    Attributes:
        shape: Of the tensor.
        block_size: Numbers of a block; the last one may be short.
        book: "signed" or "unsigned" dynamic codes, or "linear", 17 codes at equal distances.
        is_zero_block: Whether the second block holds zeros only.
        seed: Seed of the numbers.
        size: What all numbers are multiplied with.
    """

    shape: tuple[int, ...]
    block_size: int
    book: str
    is_zero_block: bool
    seed: int
    size: float = 1.0

    @property
    def numbers(self) -> int:
        """How many numbers the tensor has."""
        return torch.Size(self.shape).numel()

    @property
    def blocks(self) -> int:
        """How many blocks they make."""
        return -(-self.numbers // self.block_size)

    def make_code_book(self) -> Tensor:
        """Build the code book, in ascending order."""
        if self.book == "linear":
            return torch.linspace(-1, 1, 17)
        return make_code_book(is_signed=self.book == "signed")

    def make_values(self) -> Tensor:
        """Draw the numbers; blocks differ in size by up to 1,000 times, and one number is far out."""
        generator = torch.Generator().manual_seed(self.seed)
        values = torch.randn(self.numbers, generator=generator)
        sizes = 10 ** (3 * torch.rand(self.blocks, generator=generator) - 2)
        values *= sizes.repeat_interleave(self.block_size)[: self.numbers]
        values[self.numbers // 3] = -1000 * values.std()
        if self.is_zero_block:
            values[self.block_size : 2 * self.block_size] = 0.0
        return self.size * (values.square() if self.book == "unsigned" else values).view(self.shape)


def block_cases(seed: int) -> tuple[BlockCase, ...]:
    """Five settings.

    A matrix with signed codes, as in the lesson; squares with a short last block and a block of zeros; three dimensions
    with blocks of an odd size and other codes; a tensor that is shorter than one block; squares as small as those of
    gradients, with a short last block.
    """
    draw = random.Random(seed)
    rows, odd = 2 * draw.randrange(10, 20), draw.randrange(35, 92, 2)
    return (
        BlockCase((rows, 128), 256, "signed", False, seed),
        BlockCase((draw.randrange(900, 1000),), 128, "unsigned", True, seed + 1),
        BlockCase((3, draw.randrange(17, 23), 20), odd, "linear", True, seed + 2),
        BlockCase((draw.randrange(50, 100),), 256, "signed", False, seed + 3),
        BlockCase((rows, 63), 128, "unsigned", False, seed + 4, TINY),
    )
