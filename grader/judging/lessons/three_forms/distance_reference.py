"""The relative distance of two trained models, and what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn

from grader.lessons.three_forms.distance import DistanceCase

Choice = Callable[[nn.Module], Sequence[Tensor]]


@dataclass(frozen=True)
class Weights:
    """Tensors of the three models, one by one, in float64.

    Attributes:
        model: Of the model that is compared.
        reference: Of the reference.
        start: Of the start.
    """

    model: Sequence[Tensor]
    reference: Sequence[Tensor]
    start: Sequence[Tensor]

    @property
    def apart(self) -> list[Tensor]:
        """Difference of model and reference."""
        return [one - other for one, other in zip(self.model, self.reference, strict=True)]

    @property
    def moved(self) -> list[Tensor]:
        """Difference of reference and start."""
        return [one - other for one, other in zip(self.reference, self.start, strict=True)]

    @property
    def own(self) -> list[Tensor]:
        """Difference of model and start."""
        return [one - other for one, other in zip(self.model, self.start, strict=True)]

    @property
    def ratios(self) -> list[float]:
        """The distance of each tensor by itself."""
        return [norm([one]) / norm([other]) for one, other in zip(self.apart, self.moved, strict=True)]


def norm(tensors: Sequence[Tensor], order: float = 2) -> float:
    """Return one norm over all tensors."""
    return float(torch.linalg.vector_norm(flat(tensors), order))


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """Return all tensors in one vector."""
    return torch.cat([tensor.flatten() for tensor in tensors])


def pick(case: DistanceCase, choose: Choice) -> Weights:
    """Return the tensors that `choose` takes out of each of the three models."""
    return Weights(*([tensor.detach().double() for tensor in choose(each)] for each in case.make_models()))


@lru_cache(maxsize=32)
def weights_of(case: DistanceCase) -> Weights:
    """Return all parameters of the three models."""
    return pick(case, lambda module: list(module.parameters()))


def apart(case: DistanceCase) -> float:
    """Return the norm of the difference of model and reference."""
    return norm(weights_of(case).apart)


def moved(case: DistanceCase) -> float:
    """Return the norm of the difference of reference and start."""
    return norm(weights_of(case).moved)


def distance(case: DistanceCase) -> float:
    """Return how far apart model and reference are, relative to how far the reference moved."""
    return apart(case) / moved(case)
