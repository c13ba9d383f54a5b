"""Sentence pairs that are trained on with the Adafactor of one of two libraries, with Accelerate or the Trainer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from grader.testbed.pair_runs import OptimizerCase


@dataclass(frozen=True)
class AdafactorFormsCase(OptimizerCase):
    """The same, with the library whose Adafactor is asked for.

    Attributes:
        library: "transformers" or "torch".
    """

    library: str

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What an exercise receives after model and dataset."""
        return self.rows, self.learning_rate, self.library


def adafactor_forms_cases(seed: int) -> tuple[AdafactorFormsCase, ...]:
    """One setting of each library, in an order that the seed draws; nothing decays."""
    draw = random.Random(seed)
    cases = [
        AdafactorFormsCase(4, 5, 1e-3, seed + 11, "transformers"),
        AdafactorFormsCase(draw.choice((3, 5)), 4, draw.choice((2e-3, 3e-3)), seed + 12, "torch"),
    ]
    return tuple(draw.sample(cases, len(cases)))
