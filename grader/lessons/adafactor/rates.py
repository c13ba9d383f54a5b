"""Steps of Adafactor whose learning rate is computed."""

from __future__ import annotations

import random
from dataclasses import dataclass

FORMS = ("Trainer", "transformers", "warm-up", "scaled", "torch")


@dataclass(frozen=True)
class RateCase:
    """One step of one form.

    Attributes:
        form: One of `FORMS`.
        lr: The learning rate that a user gave.
        step: Counted from 1.
        weight_rms: Root of the mean square of the weight.
    """

    form: str
    lr: float
    step: int
    weight_rms: float


def rate_cases(seed: int) -> tuple[RateCase, ...]:
    """Early and late steps of every form, with large and small weights; late ones with a large learning rate."""
    draw = random.Random(seed)
    cases = []
    for form in FORMS:
        for step in (1, draw.randrange(50, 90), draw.randrange(15_000, 30_000)):
            for weight_rms in (0.0, draw.randrange(10, 40) / 1000, 1.0 + draw.randrange(1, 9) / 10):
                lr = draw.choice((2e-2, 3e-2) if step > 1000 else (2e-4, 3e-4))
                cases.append(RateCase(form, lr, step, weight_rms))
    return tuple(cases)
