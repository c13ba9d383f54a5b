"""Sentence pairs and long rows that are trained on with fused attention, with Accelerate and with the Trainer."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from grader.testbed.pair_runs import make_run_dataset, make_run_model
from grader.testbed.pretrained import make_bert

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification

LEARNING_RATE = 0.1


@dataclass(frozen=True)
class FormsCase:
    """Sentence pairs for one epoch, in their order, `rows` of them for an update; pairs are padded."""

    pairs: int
    rows: int
    seed: int

    @property
    def updates(self) -> int:
        """Updates of the epoch; the last one has fewer rows where `rows` does not divide `pairs`."""
        return math.ceil(self.pairs / self.rows)

    def make_model(self) -> BertForSequenceClassification:
        """Build a BERT classifier of one layer without dropout, with eager attention."""
        return make_run_model(self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.pairs, self.seed)

    def make_batches(self) -> list[dict[str, Any]]:
        """Return the rows of each update."""
        dataset = self.make_dataset()
        return [dataset[start : start + self.rows] for start in range(0, self.pairs, self.rows)]


def forms_cases(seed: int) -> tuple[FormsCase, ...]:
    """Two settings: other sizes of an update, none of them 8, the Trainer's default; the second ends short."""
    draw = random.Random(seed)
    rows = draw.choice((3, 5))
    pairs = rows * draw.randrange(3, 5) + draw.randrange(1, rows)
    return FormsCase(16, 4, seed), FormsCase(pairs, rows, seed + 1)


@dataclass(frozen=True)
class LongRowsCase:
    """Two updates of long rows without padding: most of their memory is attention.

    Attributes:
        rows: Rows of an update.
        time: Tokens of a row.
        seed: Seed of data and weights.
        layers: Layers of the model.
    """

    rows: int
    time: int
    seed: int
    layers: int = 4

    def make_model(self) -> BertForSequenceClassification:
        """Build a BERT classifier without dropout, with eager attention."""
        return make_bert(self.layers, 32, 4, vocabulary=50, longest_time=self.time, dropout=0.0, seed=self.seed).train()

    def make_dataset(self) -> list[dict[str, Any]]:
        """Draw tokens and labels, one row an entry."""
        generator = torch.Generator().manual_seed(self.seed)
        tokens = torch.randint(50, (2 * self.rows, self.time), generator=generator)
        return [{"input_ids": row, "labels": torch.tensor(index % 2)} for index, row in enumerate(tokens)]

    def make_batches(self) -> list[dict[str, Any]]:
        """Return the rows of each update."""
        dataset, rows = self.make_dataset(), self.rows
        parts = (dataset[:rows], dataset[rows:])
        return [{name: torch.stack([row[name] for row in part]) for name in part[0]} for part in parts]


def long_rows_case(seed: int) -> LongRowsCase:
    """Four rows of about 256 tokens in each of two updates."""
    return LongRowsCase(4, random.Random(seed).choice((240, 256, 264)), seed + 2)


class _CountFused(TorchFunctionMode):
    """Counts calls of `scaled_dot_product_attention`, and those of them whose graph is not of one fused operator."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.math_calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        if "scaled_dot_product_attention" in getattr(func, "__name__", ""):
            self.calls += 1
            graph = output.grad_fn
            self.math_calls += graph is not None and "ScaledDotProduct" not in type(graph).__name__
        return output


@contextlib.contextmanager
def count_fused_attention() -> Iterator[_CountFused]:
    """Count the calls of `scaled_dot_product_attention` while the block runs."""
    with _CountFused() as count:
        yield count
