"""Sentence pairs that are trained on with Accelerate and with the Trainer."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.lessons.gradient_accumulation.loops import LEARNING_RATE
from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification


@dataclass(frozen=True)
class FormsCase:
    """Sentence pairs for one epoch, in their order, in micro-batches of `rows`, `k` of them for an update.

    The last micro-batch has fewer rows where `rows` does not divide `pairs`.
    """

    pairs: int
    rows: int
    k: int
    seed: int
    learning_rate: float = LEARNING_RATE

    @property
    def micro_batches(self) -> int:
        """Micro-batches of the epoch."""
        return math.ceil(self.pairs / self.rows)

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, without dropout, whose loss the Trainer divides."""
        model = make_run_model(self.seed)
        model.accepts_loss_kwargs = False
        return model

    def make_undivided_model(self) -> BertForSequenceClassification:
        """Build the same without that attribute: the Trainer leaves the division to the model, which has none."""
        return make_run_model(self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.pairs, self.seed)

    def make_whole_batches(self) -> list[dict[str, Any]]:
        """Return the rows of each update as one batch: the run without accumulation."""
        dataset, size = self.make_dataset(), self.k * self.rows
        return [dataset[start : start + size] for start in range(0, self.pairs, size)]


def forms_cases(seed: int) -> tuple[FormsCase, ...]:
    """Three settings: a last group of a full and a short micro-batch, one of a short micro-batch, full groups only."""
    draw = random.Random(seed)
    rows, k = draw.choice((3, 5)), draw.choice((3, 5))
    return (
        FormsCase(39, 4, 4, seed),
        FormsCase(rows * 2 * k + draw.randrange(1, rows), rows, k, seed + 1),
        FormsCase(12, 2, 3, seed + 2, learning_rate=0.04),
    )


def form_peak_case(seed: int) -> FormsCase:
    """Two updates of 128 pairs, in 4 micro-batches each: most of their memory is activations."""
    return FormsCase(256, 32, 4, seed + 3)
