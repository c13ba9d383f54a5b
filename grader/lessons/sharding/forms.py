"""Sentence pairs that several ranks train on with a sharded model, with Accelerate and with the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from grader.testbed.pair_runs import make_run_dataset
from grader.testbed.pretrained import make_bert
from grader.testbed.tokenizer import LONGEST_PAIR_TOKENS, make_tokenizer

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification

LEARNING_RATE = 2e-3  # neither AdamW's default nor the Trainer's
LAYERS = 2
BLOCK = "BertLayer"


@dataclass(frozen=True)
class ShardedFormsCase:
    """Sentence pairs for one epoch, in their order.

    Attributes:
        world_size: How many ranks.
        rows: Rows of a micro-batch on one rank.
        updates: Updates of the epoch.
        reshard: Whether blocks are freed after forward.
        seed: Seed of pairs and weights.
    """

    world_size: int
    rows: int
    updates: int
    reshard: bool
    seed: int

    @property
    def batch(self) -> int:
        """Rows of one update on all ranks."""
        return self.world_size * self.rows

    def make_model(self) -> BertForSequenceClassification:
        """Build a BERT classifier of two blocks, without dropout; its matrices are five times as large as usual."""
        vocabulary = len(make_tokenizer())
        longest = LONGEST_PAIR_TOKENS
        model = make_bert(LAYERS, 32, 2, vocabulary=vocabulary, longest_time=longest, dropout=0.0, seed=self.seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(5 if parameter.dim() > 1 else 1)
        return model

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.updates * self.batch, self.seed)


def sharded_forms_cases(seed: int) -> tuple[ShardedFormsCase, ...]:
    """Return two settings: two ranks that free blocks after forward, and three that keep them."""
    draw = random.Random(seed)
    return (
        ShardedFormsCase(2, draw.choice((3, 5)), 2, True, seed),
        ShardedFormsCase(3, draw.choice((2, 4)), 2, False, seed + 1),
    )
