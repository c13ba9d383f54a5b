"""Sentence pairs of unequal lengths that several ranks train on, in batches that are given."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.testbed.pair_runs import make_run_model
from grader.testbed.sentence_pairs import make_sentence_pairs
from grader.testbed.tokenizer import make_tokenizer, tokenize_pairs

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification

LEARNING_RATE = 0.1


@dataclass(frozen=True)
class LoadingCase:
    """One epoch in given batches.

    Attributes:
        world_size: How many ranks.
        shares: Rows of each rank in each update.
        seed: Seed of pairs, batches and weights.
    """

    world_size: int
    shares: tuple[int, ...]
    seed: int

    @property
    def rows(self) -> int:
        """All rows of the epoch."""
        return self.world_size * sum(self.shares)

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, without dropout, whose loss the Trainer leaves as it is."""
        model = make_run_model(self.seed)
        model.accepts_loss_kwargs = False
        return model

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs, without padding."""
        written = make_sentence_pairs(seed=self.seed, pairs=self.rows + self.rows % 2)
        return tokenize_pairs(written.select(range(self.rows)), make_tokenizer(), is_padded=False)

    def make_collate(self) -> Any:
        """Build the collator, which pads a batch to its longest row."""
        from transformers import DataCollatorWithPadding

        return DataCollatorWithPadding(make_tokenizer())

    def make_batches(self) -> list[list[int]]:
        """Deal the row numbers to the updates, in an order of their own; rows of a batch are sorted by length."""
        lengths = [len(row) for row in self.make_dataset()["input_ids"]]
        order = list(range(self.rows))
        random.Random(self.seed).shuffle(order)
        batches = []
        for share in self.shares:
            size = share * self.world_size
            batches.append(sorted(order[:size], key=lambda row: -lengths[row]))
            order = order[size:]
        return batches


def loading_cases(seed: int) -> tuple[LoadingCase, ...]:
    """Two ranks with equal batches, of which the last is short, and three ranks with batches of unequal sizes."""
    draw = random.Random(seed)
    rows = draw.choice((3, 4))
    return (
        LoadingCase(2, (rows, rows, rows, 2), seed),
        LoadingCase(3, (2, draw.choice((3, 4)), 1), seed + 1),
    )
