"""A language model whose update does not fit its budget."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch

from grader.testbed.batches import make_token_batch
from grader.testbed.regressions import MicroBatch
from grader.testbed.transformer import SmallTransformer, make_transformer

BUDGET_LEARNING_RATE = 0.1


@dataclass(frozen=True)
class BudgetCase:
    """One update of a language model.

    Attributes:
        layers: Blocks.
        width: Features of a position.
        time: Positions of a row.
        rows: Rows of the batch.
        vocabulary: Tokens that the model scores.
        is_head_tied: Whether the head shares the weight of the token embedding.
        seed: Seed of data and weights.
    """

    layers: int
    width: int
    time: int
    rows: int
    vocabulary: int
    is_head_tied: bool
    seed: int

    def make_model(self) -> SmallTransformer:
        """Build the language model, without dropout."""
        return make_transformer(
            self.layers,
            self.width,
            4,
            vocabulary=self.vocabulary,
            context=self.time,
            is_head_tied=self.is_head_tied,
            seed=self.seed,
        )

    def make_batch(self) -> MicroBatch:
        """Draw tokens and targets [rows, time]."""
        return make_token_batch(self.rows, self.time, self.vocabulary, seed=self.seed)

    def make_optimizer(self, model: SmallTransformer) -> torch.optim.SGD:
        """Build plain SGD."""
        return torch.optim.SGD(model.parameters(), lr=BUDGET_LEARNING_RATE, foreach=False)


def gradient_budget_cases(seed: int) -> tuple[BudgetCase, ...]:
    """Two small settings whose gradients are judged: an even batch, and an odd one with a tied head."""
    draw = random.Random(seed)
    return (
        BudgetCase(2, 16, 12, 4, 40, False, seed),
        BudgetCase(draw.randrange(3, 5), 16, 10, draw.choice((5, 7)), 40, True, seed + 1),
    )


def peak_budget_case(seed: int) -> BudgetCase:
    """The setting whose peak is judged: few rows, and many positions in each."""
    draw = random.Random(seed)
    return BudgetCase(8, 64, draw.choice((704, 736, 768)), 4, 64, False, seed)
