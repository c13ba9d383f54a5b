"""Models whose saved tensors are offloaded."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.testbed.blocks import make_wide_blocks

VOCABULARY, TIME = 50, 6


class FirstTokenClassifier(nn.Module):
    """Reads tokens, drops a quarter of the numbers, and scores the first position against the table of embeddings."""

    def __init__(self, width: int):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)
        self.mix.weight.requires_grad_(False)
        self.pool = nn.Linear(width, width)
        self.turn = nn.Parameter(torch.randn(width, width))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return scores [batch, vocabulary] for tokens [batch, time]."""
        hidden = self.norm(self.embedding(tokens))  # [batch, time, width]
        kept = torch.rand(hidden.shape) > 0.25  # a mask of truth values
        hidden = torch.where(kept, torch.tanh(self.mix(hidden)), 0.0)
        pooled = torch.tanh(self.pool(hidden[:, 0])) @ self.turn  # a view of hidden: [batch, width]
        return F.linear(pooled, self.embedding.weight)


@dataclass(frozen=True)
class SavedCase:
    """A model, its inputs, and the threshold from which a saved tensor is offloaded.

    Attributes:
        make: Builds the model.
        inputs: Numbers [batch, width], or tokens [batch, time].
        threshold_bytes: Fewest bytes of a tensor that is offloaded.
        seed: Seed of the dropout masks.
    """

    make: Callable[[], nn.Module]
    inputs: Tensor
    threshold_bytes: int
    seed: int

    def run(self, model: nn.Module) -> Tensor:
        """Run forward from the random state of the case and return a loss."""
        torch.manual_seed(self.seed)
        return torch.as_tensor(model(self.inputs).square().mean())


def saved_cases(seed: int) -> tuple[SavedCase, ...]:
    """Two settings: plain blocks; then tokens, masks, a view of a large tensor, tied and frozen weights.

    In both some saved tensor has exactly the threshold's bytes, and some has fewer numbers than that.
    """
    draw = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    width, batch = draw.randrange(5, 9), draw.randrange(9, 14)
    wide = torch.randn(batch, width, generator=generator)
    rows, features = draw.randrange(7, 12), 4 * draw.randrange(3, 6)
    tokens = torch.randint(0, VOCABULARY, (rows, TIME), generator=generator)

    def make_classifier() -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return FirstTokenClassifier(features)

    return (
        SavedCase(lambda: make_wide_blocks(3, width, 4 * width, seed=seed), wide, wide.nbytes, seed + 1),
        SavedCase(make_classifier, tokens, tokens.nbytes, seed + 2),
        SavedCase(make_classifier, tokens, 2 * rows * features * 4, seed + 3),  # above the view, below its storage
    )


@dataclass(frozen=True)
class SavedPeakCase:
    """Wide blocks whose saved tensors are most of the peak."""

    blocks: int
    width: int
    batch: int
    seed: int

    @property
    def threshold_bytes(self) -> int:
        """A tensor between two blocks is offloaded; vectors are not."""
        return 4 * self.batch * self.width

    def make_model(self) -> nn.Sequential:
        """Build the blocks of Linear(width, 4 width), GELU, Linear(4 width, width)."""
        return make_wide_blocks(self.blocks, self.width, 4 * self.width, seed=self.seed)

    def make_inputs(self) -> Tensor:
        """Draw the input [batch, width], which needs no gradient."""
        return torch.randn(self.batch, self.width, generator=torch.Generator().manual_seed(self.seed))


def saved_peak_case(seed: int) -> SavedPeakCase:
    """Eight blocks whose activations are far larger than their weights."""
    draw = random.Random(seed)
    return SavedPeakCase(8, 64, 64 * draw.randrange(14, 19), seed)
