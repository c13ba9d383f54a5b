"""Sentence pairs that one loop trains on."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification

LEARNING_RATES = (0.02, 0.05, 0.1)


@dataclass(frozen=True)
class RunCase:
    """Sentence pairs in their order, `rows` of them for an update, seen `epochs` times.

    Attributes:
        pairs: Rows of the dataset.
        rows: Rows of an update; the last update of an epoch may have fewer.
        epochs: How often every row is seen.
        seed: Seed of data and weights.
    """

    pairs: int
    rows: int
    epochs: int
    seed: int

    @property
    def learning_rate(self) -> float:
        """The learning rate of SGD: another one in each setting."""
        return LEARNING_RATES[self.seed % len(LEARNING_RATES)]

    @property
    def updates_per_epoch(self) -> int:
        """Updates of one epoch, a short last one included."""
        return -(-self.pairs // self.rows)

    def rows_of(self, update: int) -> range:
        """Return which rows of the dataset make an update, counted from 0 over all epochs."""
        start = update % self.updates_per_epoch * self.rows
        return range(start, min(start + self.rows, self.pairs))

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, without dropout, in train mode."""
        return make_run_model(self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.pairs, self.seed)


def raw_run_cases(seed: int) -> tuple[RunCase, ...]:
    """Return three settings: full batches, a short last batch, and all rows in one update."""
    draw = random.Random(seed)
    rows, updates = draw.choice((3, 4, 5, 7)), draw.randrange(3, 5)
    return (
        RunCase(24, 6, 1, seed),
        RunCase(updates * rows + draw.randrange(1, rows), rows, 1, seed + 1),
        RunCase(draw.randrange(7, 12), 12, 1, seed + 2),
    )


def repaired_run_cases(seed: int) -> tuple[RunCase, ...]:
    """Return two settings: full batches, and a short last batch."""
    draw = random.Random(seed + 1)
    rows, updates = draw.choice((3, 4, 6, 7)), draw.randrange(2, 4)
    return (
        RunCase(20, 5, 1, seed + 3),
        RunCase(updates * rows + draw.randrange(1, rows), rows, 1, seed + 4),
    )
