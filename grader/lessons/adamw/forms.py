"""Sentence pairs that are trained on with AdamW and two groups, with Accelerate or with the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from grader.testbed.pair_runs import DecayCase

if TYPE_CHECKING:
    from transformers import BertForSequenceClassification


@dataclass(frozen=True)
class HeadCase(DecayCase):
    """The same, with a head whose normalisation has a name of its own, and a weight of three dimensions."""

    def make_model(self) -> BertForSequenceClassification:
        """Build the classifier, and put a normalisation and a convolution before its last layer."""
        model = super().make_model()
        width = model.config.hidden_size
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            mixing = nn.Conv1d(width, width, 1)  # weight [width, width, 1]
        model.classifier = nn.Sequential(
            nn.LayerNorm(width), nn.Unflatten(1, (width, 1)), mixing, nn.Flatten(), model.classifier
        )
        return model


def decay_forms_cases(seed: int) -> tuple[DecayCase, ...]:
    """Two settings that differ in all sizes; no epoch is a multiple of its batches. The second has another head."""
    draw = random.Random(seed)
    return (
        DecayCase(4, 5, 1e-3, seed + 7, 0.5),
        HeadCase(draw.choice((3, 5)), 4, draw.choice((2e-3, 3e-3)), seed + 8, draw.choice((0.2, 0.3))),
    )
