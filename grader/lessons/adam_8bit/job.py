"""A training job with a byte budget and a loss to reach, on models that the lesson never shows."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.testbed.word_sorter import Batch, WordSorter, make_word_batches, make_word_sorter

BUDGET_SHARE = 0.85  # of the bytes of the parameters, for all that a call holds in addition to them


@dataclass(frozen=True)
class JobCase:
    """A classifier of texts, and batches to train it on.

    Attributes:
        vocabulary: Words.
        width: Features of a text.
        hidden: Features inside a block.
        blocks: Residual blocks.
        updates: Batches, one update each.
        seed: Seed of model and texts.
        rows: Texts of a batch; with few of them, activations are smaller than the state.
    """

    vocabulary: int
    width: int
    hidden: int
    blocks: int
    updates: int
    seed: int
    rows: int = 32

    def make_model(self) -> WordSorter:
        """Build the model."""
        return make_word_sorter(self.vocabulary, self.width, self.hidden, blocks=self.blocks, seed=self.seed)

    def make_batches(self) -> list[Batch]:
        """Draw the batches to train on."""
        return make_word_batches(self.updates, rows=self.rows, vocabulary=self.vocabulary, seed=self.seed)

    def held_out(self) -> Batch:
        """Draw 1,024 other texts of the same task."""
        (batch,) = make_word_batches(1, rows=1024, vocabulary=self.vocabulary, seed=self.seed, draw=1)
        return batch

    @property
    def budget_bytes(self) -> int:
        """Bytes that a call may hold in addition to the parameters."""
        return int(BUDGET_SHARE * sum(parameter.nbytes for parameter in self.make_model().parameters()))

    def loss_of(self, weights: Tensor) -> float:
        """Return the mean loss on the held-out texts with given weights, all parameters in one vector."""
        model, (words, labels) = self.make_model(), self.held_out()
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(weights, model.parameters())
            return float(model(words, labels))


def job_loss_cases(seed: int) -> tuple[JobCase, ...]:
    """Two settings of small models, with as many updates as the lesson's figure and with more."""
    draw = random.Random(seed)
    return (
        JobCase(2048, 64, 128, 2, 60, seed + 11),
        JobCase(64 * draw.randrange(28, 31), 64, 192, 1, 65, seed + 12),
    )


def job_peak_case(seed: int) -> JobCase:
    """One setting: a model of 17 MiB and more in many tensors of up to 0.4 MiB, and two updates."""
    return JobCase(512, 192, 384, random.Random(seed).randrange(30, 34), 2, seed + 13, rows=8)
