"""Sentence pairs that are trained on with checkpointed layers, with Accelerate and with the Trainer."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn

from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification

LEARNING_RATE = 0.1
LAYERS = 2  # of the models whose layers are watched


@dataclass(frozen=True)
class FormsCase:
    """Sentence pairs for one epoch, in their order, `rows` of them for an update."""

    pairs: int
    rows: int
    seed: int
    layers: int = LAYERS
    learning_rate: float = LEARNING_RATE

    @property
    def updates(self) -> int:
        """Updates of the epoch; the last one has fewer rows where `rows` does not divide `pairs`."""
        return math.ceil(self.pairs / self.rows)

    def make_model(self) -> BertForSequenceClassification:
        """Build a BERT classifier without dropout, in eval mode as `from_pretrained` returns it."""
        model = make_run_model(self.seed)
        for index in range(1, self.layers):
            model.bert.encoder.layer.append(make_run_model(self.seed + index).bert.encoder.layer[0])
        model.config.num_hidden_layers = self.layers
        return model.eval()

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.pairs, self.seed)

    def make_batches(self) -> list[dict[str, Any]]:
        """Return the rows of each update."""
        dataset = self.make_dataset()
        return [dataset[start : start + self.rows] for start in range(0, self.pairs, self.rows)]


def watched_parts(model: nn.Module) -> list[nn.Module]:
    """Return the embeddings, which no layer's checkpoint holds, and a part of each layer.

    The part runs each time its layer is computed: hooks of the layer itself do not.
    """
    names = ["bert.embeddings", *(f"bert.encoder.layer.{index}.attention" for index in range(LAYERS))]
    return [model.get_submodule(name) for name in names]


def forms_cases(seed: int) -> tuple[FormsCase, ...]:
    """Two settings: other sizes of an update, none of them 8, the Trainer's default; the second ends short."""
    draw = random.Random(seed)
    rows = draw.choice((3, 5))
    pairs = rows * draw.randrange(3, 6) + draw.randrange(1, rows)
    return FormsCase(20, 4, seed), FormsCase(pairs, rows, seed + 1, learning_rate=0.04)


def form_peak_case(seed: int) -> FormsCase:
    """Two updates of 64 pairs and six layers: most of their memory is activations."""
    return FormsCase(128, 64, seed + 2, layers=6)
