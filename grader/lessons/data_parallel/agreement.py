"""Models on several ranks that agree, or differ in one way."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor, nn

EQUAL, EQUAL_WITH_NAN = "equal", "equal with NaN"
PARAMETERS = 6  # of a model: weight and bias of three layers, the first of which is frozen
_FIRST_MATRIX, _SECOND_MATRIX = 2, 4  # trained ones, of one shape


def one_of(parameter: int) -> str:
    """Return the kind of a difference: a number in the middle of one parameter."""
    return f"parameter {parameter}"


# In which parameters a difference of each kind is.
PLACES: dict[str, tuple[int, ...]] = {
    "first number": (0,),
    "last number": (_FIRST_MATRIX,),
    "swapped": (_FIRST_MATRIX,),
    "negated": (_FIRST_MATRIX,),
    "exchanged": (_FIRST_MATRIX, _SECOND_MATRIX),
    "last bits": (_SECOND_MATRIX,),
    "negative zero": (_SECOND_MATRIX,),
    "not a number": (_SECOND_MATRIX,),
} | {one_of(parameter): (parameter,) for parameter in range(PARAMETERS)}
_SPECIAL = {"negative zero": -0.0, "not a number": float("nan")}  # where the other ranks hold 0


@dataclass(frozen=True)
class AgreementCase:
    """One model on each rank; all are equal, or that of one rank differs.

    Attributes:
        world_size: How many ranks.
        kind: "equal", "equal with NaN", or how one rank differs: a name in `PLACES`.
        odd_rank: The rank that differs.
        width: Features of the layers.
        seed: Seed of the weights.
    """

    world_size: int
    kind: str
    odd_rank: int
    width: int
    seed: int

    def make_model(self, rank: int) -> nn.Sequential:
        """Build the model of a rank; its first layer is frozen."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            model = nn.Sequential(*(nn.Linear(self.width, self.width) for _ in range(3)))
        model[0].requires_grad_(False)
        vectors = [parameter.detach().view(-1) for parameter in model.parameters()]
        if self.kind in (*_SPECIAL, EQUAL_WITH_NAN):
            middle_of(vectors[_SECOND_MATRIX]).fill_(0.0 if self.kind in _SPECIAL else float("nan"))
        if rank == self.odd_rank and self.kind in PLACES:
            self._change(vectors)
        return model

    def _change(self, vectors: list[Tensor]) -> None:
        first, second = vectors[_FIRST_MATRIX], vectors[_SECOND_MATRIX]
        if self.kind == "first number":
            vectors[0][0] += 1.0
        elif self.kind == "last number":
            first[-1] += 1.0
        elif self.kind == "swapped":
            first[:2] = first[:2].flip(0)
        elif self.kind == "negated":
            first.neg_()
        elif self.kind == "exchanged":
            kept = first.clone()
            first.copy_(second)
            second.copy_(kept)
        elif self.kind == "last bits":
            middle_of(second).mul_(1 + 2**-20)
        elif self.kind in _SPECIAL:
            middle_of(second).fill_(_SPECIAL[self.kind])
        else:
            middle_of(vectors[PLACES[self.kind][0]]).add_(1.0)


def middle_of(vector: Tensor) -> Tensor:
    """Return the number in the middle, as a view."""
    return vector[vector.numel() // 2]


def agreement_cases(seed: int) -> tuple[AgreementCase, ...]:
    """Settings on two and three ranks: equal models, each kind of difference, and one kind on each rank of three."""
    draw = random.Random(seed)
    width = draw.randrange(100, 120)
    triples = ((EQUAL, 0), (one_of(2), 0), (one_of(3), 1), (one_of(1), 2), ("swapped", 1), ("negated", 2))
    return (
        *(AgreementCase(2, kind, 1, width, seed + n) for n, kind in enumerate((EQUAL, EQUAL_WITH_NAN, *PLACES))),
        *(AgreementCase(3, kind, odd_rank, width, seed + n + 30) for n, (kind, odd_rank) in enumerate(triples)),
    )
