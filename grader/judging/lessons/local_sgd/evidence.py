"""The evidence of one rank, as the judges of local SGD read it, and how they compare its vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.lessons.local_sgd.epochs import EpochCase
from grader.observation import Observation

# The sum of a few float32 vectors in another order differs by about 1e-7 of their size.
ROUNDING = 1e-6
# Of a movement: an optimizer that is fed a gradient again takes the same step, up to rounding.
RELATIVE_TOLERANCE = 1e-3


class Call(NamedTuple):
    """One collective of a rank: its name, its bytes, and the forwards and updates before it."""

    name: str
    byte_count: int
    forwards: int
    updates: int


@dataclass(frozen=True)
class RankEvidence:
    """What one rank reported of one setting.

    Attributes:
        facts: Counts, events and texts.
        tensors: Vectors by name.
    """

    facts: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    @property
    def calls(self) -> list[Call]:
        """Its collectives in order."""
        return [
            Call(str(name), int(size), int(forwards), int(updates)) for name, size, forwards, updates in self.placed
        ]

    @property
    def placed(self) -> Sequence[Sequence[Any]]:
        """Its collectives as they were reported."""
        calls: Sequence[Sequence[Any]] = self.facts["calls"]
        return calls


@dataclass(frozen=True)
class Epoch:
    """What the ranks reported of an epoch, and what a right loop does in it.

    Attributes:
        case: The setting.
        ranks: The evidence of each rank.
    """

    case: EpochCase
    ranks: Sequence[RankEvidence]

    @property
    def boundaries(self) -> list[int]:
        """How many micro-batches of a rank come before each update."""
        case = self.case
        return [min(end, case.micro_batches) for end in range(case.k, case.micro_batches + case.k, case.k)]

    @property
    def updates(self) -> int:
        """Updates of each rank."""
        return len(self.boundaries)

    @property
    def averages(self) -> list[int]:
        """After which updates the ranks average; the last update is one of them."""
        return sorted({*range(self.case.every, self.updates + 1, self.case.every), self.updates})

    def rows_of(self, rank: int, update: int) -> list[int]:
        """Return the micro-batches of a rank's group."""
        own = range(rank, self.case.world_size * self.case.micro_batches, self.case.world_size)
        ends = [0, *self.boundaries]
        return list(own[ends[update] : ends[update + 1]])

    def tensors(self, name: str) -> list[Tensor]:
        """Return a tensor of each rank."""
        return [evidence.tensors[name] for evidence in self.ranks]


def evidence_of(observation: Observation, setting: int, world_size: int) -> list[RankEvidence]:
    """Return what each rank of a setting reported.

    Raises:
        ValueError: Another number of ranks reported.
    """
    reports = observation.facts["settings"][setting]
    if len(reports) != world_size:
        raise ValueError(f"{len(reports)} ranks reported, of {world_size}")
    found = []
    for rank, facts in enumerate(reports):
        prefix = f"{setting}.{rank}."
        own = {name.removeprefix(prefix): one for name, one in observation.tensors.items() if name.startswith(prefix)}
        found.append(RankEvidence(facts, own))
    return found


def mean_of(vectors: Sequence[Tensor]) -> Tensor:
    """Return the mean of the ranks' vectors."""
    return torch.stack(list(vectors)).mean(dim=0)


def is_near(seen: Tensor, wanted: Tensor, way: float = 0.0) -> bool:
    """Return whether two vectors are equal up to rounding.

    Args:
        seen: What was measured.
        wanted: What it should be, of the same length.
        way: Length of a movement; a thousandth of it is allowed.

    Raises:
        ValueError: Their lengths differ.
    """
    if seen.shape != wanted.shape:
        raise ValueError(f"cannot compare {tuple(seen.shape)} with {tuple(wanted.shape)}")
    missed = float(torch.linalg.vector_norm(seen.double() - wanted.double()))
    return missed <= RELATIVE_TOLERANCE * way + ROUNDING * float(torch.linalg.vector_norm(wanted.double()))


def are_near(seen: Sequence[Tensor], wanted: Sequence[Tensor], way: float = 0.0) -> bool:
    """Return whether the vectors of all ranks are equal up to rounding."""
    return all(is_near(one, two, way) for one, two in zip(seen, wanted, strict=True))
