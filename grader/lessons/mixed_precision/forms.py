"""Sentence pairs that are trained on in bf16 with Accelerate and with the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.testbed.pair_runs import make_run_dataset, make_run_model
from grader.testbed.pretrained import make_bert
from grader.testbed.tokenizer import LONGEST_PAIR_TOKENS, make_tokenizer

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification

PAIRS_LEARNING_RATE = 0.05


@dataclass(frozen=True)
class PrecisionFormsCase:
    """Sentence pairs for one epoch, in their order, `rows` of them for an update; the last update may have fewer.

    The pairs of one update have one label, and the label alternates. Where labels balance, the gradients of the rows
    nearly cancel, and what is left is up to 16 % rounding on a device with CUDA's autocast rules.
    """

    pairs: int
    rows: int
    seed: int

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, without dropout."""
        return make_run_model(self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        written = make_run_dataset(4 * self.pairs, self.seed)
        left = {label: [row for row, is_same in enumerate(written["labels"]) if is_same == label] for label in (0, 1)}
        return written.select([left[pair // self.rows % 2].pop() for pair in range(self.pairs)])


@dataclass(frozen=True)
class PrecisionPeakCase:
    """Two updates of `rows` sentence pairs each, whose peak is measured: most of their memory is activations."""

    rows: int
    seed: int

    def make_model(self) -> BertForSequenceClassification:
        """Build a classifier of four layers, without dropout."""
        vocabulary = len(make_tokenizer())
        return make_bert(4, 64, 2, vocabulary=vocabulary, longest_time=LONGEST_PAIR_TOKENS, dropout=0.0, seed=self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs of both updates."""
        return make_run_dataset(2 * self.rows, self.seed)

    def make_batches(self) -> list[dict[str, Any]]:
        """Return the two updates, as keyword arguments of the model."""
        dataset = self.make_dataset()
        return [dataset[: self.rows], dataset[self.rows :]]


def precision_forms_cases(seed: int) -> tuple[PrecisionFormsCase, ...]:
    """Two settings: equal batches, and a last batch of one row."""
    draw = random.Random(seed)
    rows = draw.choice((3, 5))
    return PrecisionFormsCase(12, 4, seed), PrecisionFormsCase(3 * rows + 1, rows, seed + 1)


def precision_peak_case(seed: int) -> PrecisionPeakCase:
    """Return the setting whose peak is measured."""
    return PrecisionPeakCase(random.Random(seed).choice((72, 76, 80)), seed + 2)
