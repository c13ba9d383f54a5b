"""Sentence pairs that several ranks train on together, with Accelerate and with the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification


@dataclass(frozen=True)
class ParallelFormsCase:
    """Sentence pairs for one epoch, in their order.

    Attributes:
        world_size: How many ranks.
        rows: Rows of a micro-batch on one rank.
        k: Micro-batches of a rank for one update.
        updates: Updates of the epoch.
        seed: Seed of pairs and weights.
    """

    world_size: int
    rows: int
    k: int
    updates: int
    seed: int

    @property
    def batch(self) -> int:
        """Rows of one update: the effective batch."""
        return self.world_size * self.k * self.rows

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, without dropout."""
        return make_run_model(self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.updates * self.batch, self.seed)


def parallel_forms_cases(seed: int) -> tuple[ParallelFormsCase, ...]:
    """Two settings: two ranks without accumulation, and three ranks that accumulate."""
    draw = random.Random(seed)
    return (
        ParallelFormsCase(2, draw.choice((3, 5)), 1, 2, seed),
        ParallelFormsCase(3, 5, draw.choice((2, 4)), 2, seed + 1),
    )
