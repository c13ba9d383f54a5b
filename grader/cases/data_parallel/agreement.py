"""Models on several ranks that agree, or differ in one way."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import nn

EQUAL = "equal"


@dataclass(frozen=True)
class AgreementCase:
    """One model on each rank; all are equal, or that of one rank differs.

    Attributes:
        world_size: How many ranks.
        kind: "equal", or how one rank differs: "one number", "last number", "swapped", "negated", "frozen".
        odd_rank: The rank that differs.
        width: Features of the layers.
        seed: Seed of the weights.
    """

    world_size: int
    kind: str
    odd_rank: int
    width: int
    seed: int

    @property
    def is_equal(self) -> bool:
        """Whether all ranks hold the same weights."""
        return self.kind == EQUAL

    def make_model(self, rank: int) -> nn.Sequential:
        """Build the model of a rank; its first layer is frozen."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            model = nn.Sequential(*(nn.Linear(self.width, self.width) for _ in range(3)))
        model[0].requires_grad_(False)
        if rank == self.odd_rank and not self.is_equal:
            with torch.no_grad():
                self._change(model)
        return model

    def _change(self, model: nn.Sequential) -> None:
        first, second, third = (layer for layer in model if isinstance(layer, nn.Linear))
        weight, row = second.weight, second.weight[0]
        if self.kind == "one number":
            weight[0, 0] += 1.0
        elif self.kind == "last number":
            third.bias[-1] *= 1 + 2**-20
        elif self.kind == "swapped":
            row[:2] = row[:2].flip(0)
        elif self.kind == "negated":
            weight.neg_()
        else:
            first.bias[0] += 0.5


def agreement_cases(seed: int) -> tuple[AgreementCase, ...]:
    """Nine settings on two and three ranks: equal models, and each kind of difference, on a rank after the first."""
    draw = random.Random(seed)
    width = draw.randrange(100, 120)
    pairs = (EQUAL, "one number", "last number", "swapped")
    triples = (EQUAL, "negated", "frozen", "swapped", "last number")
    return (
        *(AgreementCase(2, kind, 1, width, seed + index) for index, kind in enumerate(pairs)),
        *(AgreementCase(3, kind, 1 + index % 2, width, seed + index + 9) for index, kind in enumerate(triples)),
    )
