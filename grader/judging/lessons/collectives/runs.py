"""Reads runs of a collective from an observation: what each rank had to return, returned, sent and received."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from grader.lessons.collectives.reductions import BASE, ReductionCase
from grader.observation import Observation
from grader.ranks.traffic import RECEIVE, SEND, Traffic, count_rounds
from grader.verdict import Verdict

COUNT_TOLERANCE = 2.0**-10  # counts differ by 1 at least; dividing and multiplying again moves them far less
ROUNDING = 2.0**-23  # float32: an addition errs by half of it at most, and a mean by one division more


@dataclass(frozen=True)
class Run:
    """A collective on one case.

    Attributes:
        case: The case.
        wanted: What each rank has to return, in float64.
        steps: Rounds that a right answer takes.
        returned: What each rank returned.
        traffic: What each rank sent and received.
        is_input_kept: Whether all ranks left their input as it was.
        called: Names of the library's collective operations that were called.
        first_numbers: The first number of each message that each rank sent; None for an empty one.
    """

    case: ReductionCase
    wanted: list[Tensor]
    steps: int
    returned: list[Tensor]
    traffic: list[Traffic]
    is_input_kept: bool
    called: list[str]
    first_numbers: list[list[float | None]]

    @property
    def ranks(self) -> int:
        """How many ranks ran."""
        return self.case.world_size

    @property
    def what(self) -> str:
        """The case, as messages name it."""
        return f"{self.ranks} rank{'s' if self.ranks > 1 else ''}, {self.case.elements} elements"

    @property
    def rounds(self) -> int:
        """How many rounds the messages took."""
        return count_rounds(self.traffic)

    @property
    def tensor_bytes(self) -> int:
        """Bytes of the tensor on each rank."""
        return self.case.inputs()[0].nbytes

    @property
    def chunk_bytes(self) -> int:
        """Bytes of the largest of even chunks, one for each rank."""
        return -(-self.case.elements // self.ranks) * self.case.inputs().element_size()

    @cached_property
    def sent(self) -> list[list[int]]:
        """Whom each rank sent to, message by message."""
        return [[peer for kind, peer, _ in one.events if kind == SEND] for one in self.traffic]

    @cached_property
    def received(self) -> list[list[int]]:
        """Whom each rank received from, message by message."""
        return [[peer for kind, peer, _ in one.events if kind == RECEIVE] for one in self.traffic]

    @property
    def most_messages(self) -> int:
        """Messages of the rank that sent most."""
        return max(map(len, self.sent))

    @property
    def unread(self) -> int:
        """How many messages nobody received."""
        return sum(one.unread_messages for one in self.traffic)

    @property
    def sizes(self) -> list[int]:
        """The different bytes of messages, the smallest first."""
        return sorted({size for one in self.traffic for kind, _, size in one.events if kind == SEND})

    @property
    def largest_bytes(self) -> int:
        """Bytes of the largest message."""
        return max(self.sizes, default=0)

    @cached_property
    def pairs(self) -> list[tuple[Tensor, Tensor]]:
        """Of each rank the numbers that it returned and those that it has to return, flat, in float64."""
        pairs = zip(self.returned, self.wanted, strict=True)
        return [(value.flatten().double(), right.flatten()) for value, right in pairs]

    @property
    def has_right_shapes(self) -> bool:
        """Whether each rank returned a tensor of the right shape."""
        return all(value.shape == right.shape for value, right in zip(self.returned, self.wanted, strict=True))

    @property
    def is_right(self) -> bool:
        """Whether each rank returned what it has to."""
        return self.has_right_shapes and all(self.agree(value, right) for value, right in self.pairs)

    def agree(self, value: Tensor, right: Tensor) -> bool:
        """Return whether numbers differ by rounding alone; NaN does not."""
        return value.shape == right.shape and bool(self.agreeing(value, right).all())

    def agreeing(self, value: Tensor, right: Tensor) -> Tensor:
        """Return which numbers differ by rounding alone."""
        rounding = COUNT_TOLERANCE
        if not self.case.is_counting:
            rounding = self.ranks * ROUNDING * float(self.case.inputs().abs().sum(0).max())
        return (value.double() - right).abs() <= rounding

    @cached_property
    def places(self) -> Tensor:
        """Which elements are right, [ranks, elements]; empty where a rank does not return the whole tensor."""
        if not self.has_right_shapes or any(len(right) != self.case.elements for _, right in self.pairs):
            return torch.zeros(self.ranks, 0, dtype=torch.bool)
        return torch.stack([self.agreeing(value, right) for value, right in self.pairs])

    @cached_property
    def digits(self) -> list[list[int]]:
        """Of each different wrong number how often it holds each rank; empty where one is no sum of their numbers."""
        if not self.case.is_counting or not self.has_right_shapes:
            return []
        wrong = {number for value, right in self.pairs for number in value[~self.agreeing(value, right)].tolist()}
        read = [digits_of(number, self.ranks) for number in wrong]
        return read if all(read) else []


def digits_of(value: float, ranks: int) -> list[int]:
    """Return how often each rank is in a sum, where rank r gave 16**r; nothing where the number is no such sum."""
    if not 0 <= value < float(BASE**ranks) or abs(value - round(value)) > COUNT_TOLERANCE:
        return []
    return [round(value) // BASE**rank % BASE for rank in range(ranks)]


def sums(case: ReductionCase) -> list[Tensor]:
    """Return the sum of all tensors, for each rank."""
    return [case.inputs().double().sum(0)] * case.world_size


def runs_of(
    observation: Observation,
    cases: Sequence[ReductionCase],
    steps: Callable[[int], int],
    wanted: Callable[[ReductionCase], list[Tensor]] = sums,
) -> list[Run]:
    """Read the runs of an observation: of all cases, or of the first ones where a later launch failed.

    Args:
        observation: What the check observed.
        cases: The cases of its seed.
        steps: Rounds of a right answer, by the number of ranks.
        wanted: What each rank has to return on a case.

    Raises:
        ValueError: It has too few runs, or a run has another number of ranks than its case.
    """
    settings = observation.facts["settings"]
    if not settings or (len(settings) != len(cases) and "stopped" not in observation.facts):
        raise ValueError(f"{len(settings)} runs, where there are {len(cases)} cases")
    runs = []
    for number, (ranks, case) in enumerate(zip(settings, cases, strict=False)):
        if len(ranks) != case.world_size:
            raise ValueError(f"{len(ranks)} ranks, where there are {case.world_size}")
        returned = [observation.tensors[f"{number}.{rank}"] for rank in range(case.world_size)]
        called = sorted({str(name) for rank in ranks for name in rank["collectives"]})
        is_kept = all(rank["is_input_kept"] is True for rank in ranks)
        first_numbers = [list(rank["first_numbers"]) for rank in ranks]
        traffic = [_traffic(rank) for rank in ranks]
        runs.append(Run(case, wanted(case), steps(case.world_size), returned, traffic, is_kept, called, first_numbers))
    return runs


def _traffic(rank: dict[str, Any]) -> Traffic:
    events = tuple((str(kind), int(peer), int(size)) for kind, peer, size in rank["events"])
    return Traffic(events, rank["unread_messages"])


def stopped(observation: Observation) -> Verdict | None:
    """Return what ended the observation early, None where nothing did."""
    if "stopped" not in observation.facts:
        return None
    code, expected, measured, look_at = map(str, observation.facts["stopped"])
    if code == "passed":
        raise ValueError("a stop is no pass")
    return Verdict(code, expected, measured, look_at)
