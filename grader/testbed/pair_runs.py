"""The model and the sentence pairs that several lessons train in a raw loop, with Accelerate and with the Trainer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from grader.testbed.pretrained import make_bert
from grader.testbed.sentence_pairs import make_sentence_pairs
from grader.testbed.tokenizer import LONGEST_PAIR_TOKENS, make_tokenizer, tokenize_pairs

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification


def make_run_model(seed: int) -> BertForSequenceClassification:
    """Build a one-layer BERT classifier for the built-in tokenizer, without dropout, in train mode.

    Its matrices are five times as large as usual: then rows differ, their gradients do not cancel down to rounding
    errors, and a clipping to norm 1 shows.
    """
    vocabulary = len(make_tokenizer())
    model = make_bert(1, 32, 2, vocabulary=vocabulary, longest_time=LONGEST_PAIR_TOKENS, dropout=0.0, seed=seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(5 if parameter.dim() > 1 else 1)
    return model


def make_run_dataset(pairs: int, seed: int) -> Dataset:
    """Write and tokenize so many pairs."""
    written = make_sentence_pairs(seed=seed, pairs=pairs + pairs % 2)
    return tokenize_pairs(written.select(range(pairs)), make_tokenizer())


@dataclass(frozen=True)
class OptimizerCase:
    """Sentence pairs for one epoch, in their order; the last batch is one pair short.

    Attributes:
        rows: Rows of an update.
        updates: Updates of the epoch.
        learning_rate: Constant.
        seed: Seed of data and weights.
    """

    rows: int
    updates: int
    learning_rate: float
    seed: int

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What an exercise receives after model and dataset."""
        return self.rows, self.learning_rate

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, without dropout."""
        return make_run_model(self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.rows * self.updates - 1, self.seed)


@dataclass(frozen=True)
class DecayCase(OptimizerCase):
    """The same, with two groups.

    Attributes:
        weight_decay: Of matrices and embeddings; biases and normalisations do not decay.
    """

    weight_decay: float

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What an exercise receives after model and dataset."""
        return self.rows, self.learning_rate, self.weight_decay
