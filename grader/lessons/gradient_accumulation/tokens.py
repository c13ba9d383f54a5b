"""Micro-batches of a language model with unequal numbers of target tokens."""

from __future__ import annotations

import random
from dataclasses import dataclass

from grader.testbed.batches import make_padded_batch
from grader.testbed.regressions import MicroBatch
from grader.testbed.transformer import SmallTransformer, make_transformer


@dataclass(frozen=True)
class TokenCase:
    """Micro-batches of a language model with unequal numbers of target tokens.

    Attributes:
        lengths: Target tokens of each row of each micro-batch.
        time: Positions of a row, padding included.
        vocabulary: Tokens that the model scores.
        width: Features of the model.
        seed: Seed of data and weights.
    """

    lengths: tuple[tuple[int, ...], ...]
    time: int
    vocabulary: int
    width: int
    seed: int

    @property
    def target_tokens(self) -> tuple[int, ...]:
        """Target tokens of each micro-batch."""
        return tuple(sum(rows) for rows in self.lengths)

    def make_model(self) -> SmallTransformer:
        """Build the language model, without dropout."""
        return make_transformer(1, self.width, 2, vocabulary=self.vocabulary, context=self.time, seed=self.seed)

    def make_micro_batches(self) -> list[MicroBatch]:
        """Draw tokens and targets [rows, time] of every micro-batch; targets are -100 at padding."""
        return [
            make_padded_batch(rows, self.time, self.vocabulary, seed=self.seed + index)
            for index, rows in enumerate(self.lengths)
        ]


def token_cases(seed: int) -> tuple[TokenCase, ...]:
    """Two settings: very unequal lengths, and one with unequal rows and a micro-batch without any target."""
    draw = random.Random(seed)
    short, long = draw.randrange(1, 3), draw.randrange(14, 17)
    unequal = ((short, short), (long, long - 1), (draw.randrange(2, 4), 2), (5, draw.randrange(5, 8)))
    return (
        TokenCase(unequal, time=16, vocabulary=50, width=16, seed=seed),
        TokenCase(((4, long, 1), (0,), (draw.randrange(7, 10), 2)), time=16, vocabulary=50, width=16, seed=seed + 1),
    )


def token_budget_case(seed: int) -> TokenCase:
    """Eight micro-batches of four rows with a vocabulary so large that the logits dominate the peak."""
    draw = random.Random(seed)
    lengths = tuple(tuple(draw.randrange(24, 65) for _ in range(4)) for _ in range(8))
    return TokenCase(lengths, time=64, vocabulary=2048, width=64, seed=seed)
