"""Sentence pairs that are trained on with 8-bit Adam, with Accelerate or with the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from grader.testbed.pair_runs import DecayCase

if TYPE_CHECKING:
    from transformers import BertForSequenceClassification


@dataclass(frozen=True)
class EightBitFormsCase(DecayCase):
    """The same, with two embeddings of more than 4,096 numbers."""

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, with a long table of positions."""
        model = super().make_model()
        embeddings = model.bert.embeddings
        positions = embeddings.position_embeddings.weight
        table = torch.zeros(-(-4096 // positions.shape[1]) + 1, positions.shape[1])  # [positions, width]
        table[: len(positions)] = positions.detach()[: len(table)]
        embeddings.position_embeddings = torch.nn.Embedding(table.shape[0], table.shape[1], _weight=table)
        return model


def eight_bit_forms_cases(seed: int) -> tuple[EightBitFormsCase, ...]:
    """Two settings that differ in all sizes; no epoch is a multiple of its batches."""
    draw = random.Random(seed + 1)
    return (
        EightBitFormsCase(4, 5, 1e-3, seed + 9, 0.5),
        EightBitFormsCase(draw.choice((3, 5)), 4, draw.choice((2e-3, 3e-3)), seed + 10, draw.choice((0.2, 0.3))),
    )
