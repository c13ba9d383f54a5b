"""Sentence pairs that are trained on with checkpointed layers, with Accelerate and with the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from grader.cases.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification

LEARNING_RATE = 0.1


@dataclass(frozen=True)
class FormsCase:
    """Sentence pairs for one epoch, in their order, `rows` of them for an update."""

    pairs: int
    rows: int
    seed: int

    @property
    def updates(self) -> int:
        """Updates of the epoch."""
        return self.pairs // self.rows

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier without dropout, in eval mode as `from_pretrained` returns it."""
        return make_run_model(self.seed).eval()

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.pairs, self.seed)


def watched_part(model: nn.Module) -> nn.Module:
    """Return a part of the classifier that runs each time its layer is computed: hooks of the layer itself do not."""
    part: nn.Module = model.get_submodule("bert.encoder.layer.0.attention")
    return part


def forms_cases(seed: int) -> tuple[FormsCase, ...]:
    """Two settings: other sizes of an update, none of them 8, the Trainer's default."""
    draw = random.Random(seed)
    rows = draw.choice((3, 5))
    return FormsCase(20, 4, seed), FormsCase(rows * draw.randrange(3, 6), rows, seed + 1)
