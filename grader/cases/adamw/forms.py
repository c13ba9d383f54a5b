"""Sentence pairs that are trained on with AdamW and two groups, with Accelerate and with the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.cases.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification


@dataclass(frozen=True)
class DecayFormsCase:
    """Sentence pairs for one epoch, in their order.

    Attributes:
        rows: Rows of an update.
        updates: Updates of the epoch.
        learning_rate: Of AdamW, constant.
        weight_decay: Of matrices and embeddings; biases and normalisations do not decay.
        seed: Seed of data and weights.
    """

    rows: int
    updates: int
    learning_rate: float
    weight_decay: float
    seed: int

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, without dropout."""
        return make_run_model(self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.rows * self.updates, self.seed)


@dataclass(frozen=True)
class ShortEpochCase(DecayFormsCase):
    """The same, with one pair less: the last batch is short."""

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.rows * self.updates - 1, self.seed)


def decay_forms_cases(seed: int) -> tuple[ShortEpochCase, ...]:
    """Two settings that differ in all sizes; no epoch is a multiple of its batches."""
    draw = random.Random(seed)
    return (
        ShortEpochCase(4, 5, 1e-3, 0.5, seed + 7),
        ShortEpochCase(draw.choice((3, 5)), 4, draw.choice((2e-3, 3e-3)), draw.choice((0.2, 0.3)), seed + 8),
    )
