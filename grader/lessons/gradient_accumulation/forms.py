"""Sentence pairs that are trained on with Accelerate and with the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification


@dataclass(frozen=True)
class FormsCase:
    """Sentence pairs for one epoch, in their order, in micro-batches of `rows`, `k` of them for an update."""

    pairs: int
    rows: int
    k: int
    seed: int

    @property
    def micro_batches(self) -> int:
        """Micro-batches of the epoch."""
        return self.pairs // self.rows

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, without dropout."""
        return make_run_model(self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.pairs, self.seed)


def forms_cases(seed: int) -> tuple[FormsCase, ...]:
    """Three settings: a last group of half the size, one of a single micro-batch, and full groups only."""
    draw = random.Random(seed)
    rows, k = draw.choice((2, 3, 5)), draw.choice((3, 5))
    return (
        FormsCase(40, 4, 4, seed),
        FormsCase(rows * (2 * k + 1), rows, k, seed + 1),
        FormsCase(12, 2, 3, seed + 2),
    )
