"""Sentence pairs that are trained on in bf16 with Accelerate and with the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification

PAIRS_LEARNING_RATE = 0.05


@dataclass(frozen=True)
class PrecisionFormsCase:
    """Sentence pairs for one epoch, in their order, `rows` of them for an update; the last update may have fewer."""

    pairs: int
    rows: int
    seed: int

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, without dropout."""
        return make_run_model(self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.pairs, self.seed)


def precision_forms_cases(seed: int) -> tuple[PrecisionFormsCase, ...]:
    """Two settings: equal batches, and a last batch of one row."""
    draw = random.Random(seed)
    rows = draw.choice((3, 5))
    return PrecisionFormsCase(16, 4, seed), PrecisionFormsCase(3 * rows + 1, rows, seed + 1)
