"""Sentence pairs that are trained on with Accelerate and with the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from grader.testbed.pretrained import make_bert
from grader.testbed.sentence_pairs import make_sentence_pairs
from grader.testbed.tokenizer import LONGEST_PAIR_TOKENS, make_tokenizer, tokenize_pairs

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
        """Build a one-layer BERT classifier for the built-in tokenizer, without dropout.

        Its matrices are five times as large as usual: then rows differ, their gradients do not cancel down to rounding
        errors, and a clipping to norm 1 shows.
        """
        vocabulary = len(make_tokenizer())
        model = make_bert(
            1, 32, 2, vocabulary=vocabulary, longest_time=LONGEST_PAIR_TOKENS, dropout=0.0, seed=self.seed
        )
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(5 if parameter.dim() > 1 else 1)
        return model

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        pairs = make_sentence_pairs(seed=self.seed, pairs=self.pairs + self.pairs % 2)
        return tokenize_pairs(pairs.select(range(self.pairs)), make_tokenizer())


def forms_cases(seed: int) -> tuple[FormsCase, ...]:
    """Three settings: a last group of half the size, one of a single micro-batch, and full groups only."""
    draw = random.Random(seed)
    rows, k = draw.choice((2, 3, 5)), draw.choice((3, 5))
    return (
        FormsCase(40, 4, 4, seed),
        FormsCase(rows * (2 * k + 1), rows, k, seed + 1),
        FormsCase(12, 2, 3, seed + 2),
    )
