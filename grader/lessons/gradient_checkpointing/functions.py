"""Blocks that a checkpoint written by hand is called on."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from grader.testbed.blocks import make_wide_blocks

Apply = Callable[[nn.Module, Tensor], Tensor]
VOCABULARY = 20


@dataclass(frozen=True)
class FunctionCase:
    """A few blocks, each run through a checkpoint.

    Attributes:
        blocks: Blocks that are called, one after the other.
        width: Features between blocks.
        rows: Rows of the input.
        dropout: Probability of each dropout; 0 for none.
        needs_input_gradient: Whether the input needs a gradient.
        has_frozen: Whether some parameters are frozen, and a layer changes its own intermediate result in place.
        is_token_model: Whether the first block embeds tokens, and one block is called several times, each time added to
            what it is given.
        seed: Seed of data and weights.
    """

    blocks: int
    width: int
    rows: int
    seed: int
    dropout: float = 0.0
    needs_input_gradient: bool = True
    has_frozen: bool = False
    is_token_model: bool = False

    def make_blocks(self) -> list[nn.Module]:
        """Build the blocks that are called, in train mode; a token model has the same one several times."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            blocks: list[nn.Module] = [self._make_block() for _ in range(self.blocks)]
            if self.is_token_model:
                embedding = nn.Sequential(nn.Embedding(VOCABULARY, self.width), nn.LayerNorm(self.width))
                blocks = [embedding, *blocks[:1] * (self.blocks - 1)]
        if self.has_frozen:
            for block in blocks:
                next(block.parameters()).requires_grad_(False)
        return blocks

    def _make_block(self) -> nn.Module:
        hidden = 2 * self.width
        middle = nn.ReLU(inplace=True) if self.has_frozen else nn.Tanh()
        layers = [nn.Linear(self.width, hidden), middle, nn.Dropout(self.dropout), nn.Linear(hidden, self.width)]
        return nn.Sequential(*(layer for layer in layers if self.dropout or not isinstance(layer, nn.Dropout)))

    def make_inputs(self) -> Tensor:
        """Draw the input: [rows, width], or tokens [rows, 3]."""
        generator = torch.Generator().manual_seed(self.seed)
        if self.is_token_model:
            return torch.randint(0, VOCABULARY, (self.rows, 3), generator=generator)
        inputs = torch.randn(self.rows, self.width, generator=generator)
        return inputs.requires_grad_(self.needs_input_gradient)

    def make_output_weights(self) -> Tensor:
        """Draw the gradient that arrives at the output, as large as the output."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        shape = (self.rows, 3, self.width) if self.is_token_model else (self.rows, self.width)
        return torch.randn(shape, generator=generator)

    def run(self, blocks: list[nn.Module], inputs: Tensor, apply: Apply) -> Tensor:
        """Run the blocks one after the other, each by `apply(block, states)`, from the random state of the case."""
        torch.manual_seed(self.seed + 2)
        states = inputs
        for index, block in enumerate(blocks):
            result = apply(block, states)
            states = states + result if self.is_token_model and index else result
        return states


def function_cases(seed: int) -> tuple[FunctionCase, ...]:
    """Four settings, each with something that the one before has not.

    One block; an input that needs no gradient, with frozen parameters and an operation in place; dropout; and tokens,
    which cannot have a gradient, with one block called several times.
    """
    draw = random.Random(seed)
    width, rows = draw.randrange(5, 10), draw.randrange(4, 8)
    return (
        FunctionCase(1, width, rows, seed),
        FunctionCase(3, width, rows, seed + 10, needs_input_gradient=False, has_frozen=True),
        FunctionCase(draw.randrange(2, 4), width, 4 * rows, seed + 20, dropout=draw.choice((0.3, 0.5))),
        FunctionCase(draw.randrange(3, 5), width, rows, seed + 30, needs_input_gradient=False, is_token_model=True),
    )


@dataclass(frozen=True)
class FunctionPeakCase:
    """Wide blocks, each run through a checkpoint, whose peak is measured."""

    blocks: int
    width: int
    batch: int
    seed: int

    def make_model(self) -> nn.Sequential:
        """Build the blocks of Linear(width, 4 width), GELU, Linear(4 width, width)."""
        return make_wide_blocks(self.blocks, self.width, 4 * self.width, seed=self.seed)

    def make_inputs(self) -> Tensor:
        """Draw the input [batch, width], which needs no gradient."""
        return torch.randn(self.batch, self.width, generator=torch.Generator().manual_seed(self.seed))


def function_peak_case(seed: int) -> FunctionPeakCase:
    """Eight blocks whose interior is eight times as large as what lies between them."""
    draw = random.Random(seed)
    return FunctionPeakCase(8, 128, 128 * draw.randrange(14, 19), seed)
