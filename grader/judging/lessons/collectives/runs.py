"""What was seen of a collective on one case, read from an observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.lessons.collectives.reductions import ReductionCase
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
        returned: What each rank returned.
        traffic: What each rank sent and received.
        kept: Whether each rank's input was unchanged afterwards.
        collectives: Names of the library's collective operations that each rank called.
        first_numbers: The first number of each message that each rank sent; None for an empty one.
    """

    case: ReductionCase
    returned: list[Tensor]
    traffic: list[Traffic]
    kept: list[bool]
    collectives: list[list[str]]
    first_numbers: list[list[float | None]]

    @property
    def ranks(self) -> int:
        """How many ranks ran."""
        return self.case.world_size

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

    @property
    def rows_bytes(self) -> int:
        """Bytes of the largest part, where the first dimension is shared out evenly and not the elements."""
        rows = self.case.shape[0]
        return -(-rows // self.ranks) * (self.tensor_bytes // rows)

    def destinations(self, rank: int) -> list[int]:
        """Return whom a rank sent to, message by message."""
        return [peer for kind, peer, _ in self.traffic[rank].events if kind == SEND]

    def sources(self, rank: int) -> list[int]:
        """Return whom a rank received from, message by message."""
        return [peer for kind, peer, _ in self.traffic[rank].events if kind == RECEIVE]

    def largest_message(self) -> int:
        """Return the bytes of the largest message."""
        return max((size for one in self.traffic for kind, _, size in one.events if kind == SEND), default=0)


def runs_of(observation: Observation, cases: Sequence[ReductionCase]) -> list[Run]:
    """Read the runs of an observation: of all cases, or of the first ones where a later launch failed.

    Raises:
        ValueError: It has too few runs, or a run has another number of ranks than its case.
    """
    settings = observation.facts["settings"]
    if not settings or (len(settings) != len(cases) and "stopped" not in observation.facts):
        raise ValueError(f"{len(settings)} runs, where there are {len(cases)} cases")
    return [_run(observation, number, case) for number, case in enumerate(cases[: len(settings)])]


def _run(observation: Observation, number: int, case: ReductionCase) -> Run:
    ranks: list[dict[str, Any]] = observation.facts["settings"][number]
    if len(ranks) != case.world_size:
        raise ValueError(f"{len(ranks)} ranks, where there are {case.world_size}")
    traffic = [
        Traffic(
            tuple((str(kind), int(peer), int(size)) for kind, peer, size in rank["events"]), rank["unread_messages"]
        )
        for rank in ranks
    ]
    returned = [observation.tensors[f"{number}.{rank}"] for rank in range(case.world_size)]
    kept = [rank["is_input_kept"] is True for rank in ranks]
    collectives = [list(map(str, rank["collectives"])) for rank in ranks]
    return Run(case, returned, traffic, kept, collectives, [list(rank["first_numbers"]) for rank in ranks])


def stopped(observation: Observation) -> Verdict | None:
    """Return what ended the observation early, None where nothing did."""
    if "stopped" not in observation.facts:
        return None
    code, expected, measured, look_at = map(str, observation.facts["stopped"])
    if code == "passed":
        raise ValueError("a stop is no pass")
    return Verdict(code, expected, measured, look_at)


def differs(value: Tensor, reference: Tensor, limit: float) -> bool:
    """Return whether a result is further from its float64 reference than rounding explains; NaN is."""
    return value.shape != reference.shape or not bool(((value.double() - reference).abs() <= limit).all())


def rounding_of(case: ReductionCase) -> float:
    """Return how far rounding may move an element of a sum."""
    return COUNT_TOLERANCE if case.is_counting else case.world_size * ROUNDING * float(case.inputs().abs().sum(0).max())


def have_equal_bits(tensors: Sequence[Tensor]) -> bool:
    """Return whether all ranks hold the same numbers."""
    return all(torch.equal(tensors[0], tensor) for tensor in tensors)


def describe(case: ReductionCase) -> str:
    """Name a case in a message."""
    return f"{case.world_size} rank{'s' if case.world_size > 1 else ''}, {case.elements} elements"
