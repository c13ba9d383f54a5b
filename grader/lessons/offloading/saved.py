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
    """Reads tokens, drops a quarter of the numbers, and scores the first position against the table of embeddings.

    It uses the second half of a weight, as those do whose projections share one weight.
    """

    def __init__(self, width: int):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)
        self.mix.weight.requires_grad_(False)
        self.pool = nn.Linear(width, 2 * (width + 1))
        self.turn = nn.ParameterList([nn.Parameter(torch.randn(width + 1, width))])

    def forward(self, tokens: Tensor) -> Tensor:
        """Return scores [batch, vocabulary] for tokens [batch, time]."""
        hidden = self.norm(self.embedding(tokens))  # [batch, time, width]
        kept = torch.rand(hidden.shape) > 0.25  # a mask of truth values
        hidden = torch.where(kept, torch.tanh(self.mix(hidden)), 0.0)
        weight, bias = (one[one.shape[0] // 2 :] for one in self.pool.parameters())
        pooled = torch.tanh(F.linear(hidden[:, 0], weight, bias)) @ self.turn[0]  # a view of hidden: [batch, width]
        return F.linear(pooled, self.embedding.weight)


@dataclass(frozen=True)
class SavedCase:
    """A model, its inputs, and the threshold from which a saved tensor is offloaded.

    Attributes:
        make: Builds the model.
        inputs: Numbers [batch, width], or tokens [batch, time].
        threshold_bytes: Fewest bytes of a tensor that is offloaded.
        seed: Seed of the dropout masks.
        head: A parameter of the loss, and not of the model; None if the loss has none.
    """

    make: Callable[[], nn.Module]
    inputs: Tensor
    threshold_bytes: int
    seed: int
    head: nn.Parameter | None = None

    def run(self, model: nn.Module) -> Tensor:
        """Run forward from the random state of the case and return a loss."""
        torch.manual_seed(self.seed)
        outputs = model(self.inputs)
        return torch.as_tensor((outputs if self.head is None else outputs @ self.head).square().mean())


def saved_cases(seed: int) -> tuple[SavedCase, ...]:
    """Plain blocks; then tokens, masks, a view of a large tensor, half of a weight, tied and frozen weights.

    The first two have a saved tensor of exactly the threshold's bytes, and one with fewer numbers than that. The loss
    has a parameter of its own. With as many rows as features, activations have the shape of a parameter.
    """
    draw = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    width, batch = draw.randrange(5, 9), draw.randrange(9, 14)
    wide = torch.randn(batch, width, generator=generator)
    rows = features = 4 * draw.randrange(3, 6)
    small, large = (
        nn.Parameter(torch.randn(shape, generator=generator))
        for shape in ((width, width + 1), (VOCABULARY, VOCABULARY))
    )
    tokens = torch.randint(0, VOCABULARY, (rows, TIME), generator=generator)

    def make_classifier() -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return FirstTokenClassifier(features)

    return (
        SavedCase(lambda: make_wide_blocks(3, width, 4 * width, seed=seed), wide, wide.nbytes, seed + 1, small),
        SavedCase(make_classifier, tokens, tokens.nbytes, seed + 2, large),
        SavedCase(make_classifier, tokens, 2 * rows * features * 4, seed + 3, large),  # more than the view
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
