"""Names which micro-batches several ranks ran in an epoch, where they did not run those that are their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from grader.judging.misconceptions import Misconception, Table
from grader.verdict import Verdict


class SharedEpoch(Protocol):
    """A case of micro-batches that ranks share out one by one."""

    @property
    def world_size(self) -> int:
        """How many ranks."""

    @property
    def micro_batches(self) -> int:
        """How many each rank has."""

    @property
    def k(self) -> int:
        """How many of a rank make one update."""

    @property
    def rows(self) -> int:
        """Rows of each."""


@dataclass(frozen=True)
class RankRows:
    """What each rank ran.

    Attributes:
        case: The setting.
        reports: "seen" and "forward_rows" of each rank.
    """

    case: SharedEpoch
    reports: Sequence[Mapping[str, Any]]

    @cached_property
    def seen(self) -> list[list[int]]:
        """The micro-batches of each rank in order; -1 for inputs that are none of them."""
        return [[int(index) for rows in facts["seen"] for index in rows] for facts in self.reports]

    @cached_property
    def right(self) -> list[list[int]]:
        """The micro-batches that are each rank's own."""
        size, own = self.case.world_size, self.case.micro_batches
        return [list(range(rank, size * own, size)) for rank in range(size)]

    @cached_property
    def forward_rows(self) -> set[int]:
        """The numbers of rows that forwards had."""
        return {int(rows) for facts in self.reports for rows in facts["forward_rows"]}

    def are_by(self, rows_of: Callable[[int], Iterable[int]]) -> bool:
        """Return whether every rank ran the micro-batches of a rule."""
        return self.seen == [list(rows_of(rank)) for rank in range(self.case.world_size)]

    def judge(self) -> Verdict | None:
        """Return the verdict on ranks that did not run their own micro-batches.

        A forward of more rows than a micro-batch has is left to the judge of the updates.
        """
        if self.seen == self.right or max(self.forward_rows, default=0) > self.case.rows:
            return None
        pairs = enumerate(zip(self.seen, self.right, strict=True))
        rank, (seen, right) = next((rank, pair) for rank, pair in pairs if pair[0] != pair[1])
        expected = f"micro-batches {_few(right)} on rank {rank} of {self.case.world_size}"
        return ROWS.judge(self, expected, f"micro-batches {_few(seen)}" if seen else "no forward")


def _few(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"{shown}, ... ({len(numbers)} forwards)" if len(numbers) > 8 else shown


def _are_split(rows: RankRows) -> bool:
    return any(-1 in seen for seen in rows.seen) and max(rows.forward_rows) < rows.case.rows


def _have_lost_the_last_group(rows: RankRows) -> bool:
    full = rows.case.micro_batches - rows.case.micro_batches % rows.case.k
    return rows.are_by(lambda rank: rows.right[rank][:full])


ROWS = Table[RankRows](
    Misconception("no_forward", "You never call model. Look at your loop.", shown_by=lambda rows: not any(rows.seen)),
    Misconception(
        "rows_split_over_ranks",
        "You share out the rows of a micro-batch. Each micro-batch goes to one rank as a whole.",
        shown_by=_are_split,
    ),
    Misconception(
        "other_inputs",
        "You call model on inputs that are no micro-batch of the list. Call it on the inputs of one, as they are.",
        shown_by=lambda rows: any(-1 in seen for seen in rows.seen),
    ),
    Misconception(
        "all_rows_on_every_rank",
        "You run all micro-batches on every rank. Take those that are this rank's.",
        shown_by=lambda rows: rows.are_by(lambda rank: range(rows.case.world_size * rows.case.micro_batches)),
    ),
    Misconception(
        "same_rows_on_every_rank",
        "You run the same micro-batches on every rank. Use rank to choose them.",
        shown_by=lambda rows: all(seen == rows.seen[0] for seen in rows.seen),
    ),
    Misconception(
        "rows_in_one_piece",
        "You cut the list into one piece per rank. This rank has every world_size-th micro-batch, from number rank on.",
        shown_by=lambda rows: rows.are_by(
            lambda rank: range(rank * rows.case.micro_batches, (rank + 1) * rows.case.micro_batches)
        ),
    ),
    Misconception(
        "last_group_lost",
        "You leave out the micro-batches after the last full group. They make an update of their own.",
        shown_by=_have_lost_the_last_group,
    ),
    Misconception(
        "rows_repeated",
        "You run some of this rank's micro-batches again. Run each once: the last group may be shorter than k.",
        shown_by=lambda rows: [sorted(set(seen)) for seen in rows.seen] == rows.right,
    ),
    Misconception(
        "other_rows",
        "You run other micro-batches than this rank's. It has every world_size-th one, from number rank on.",
        shown_by=lambda rows: True,
    ),
)
