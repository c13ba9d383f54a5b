"""Shares of a vector that some ranks saved, to be read by another number of ranks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.observing.contract import fail


@dataclass(frozen=True)
class SharesCase:
    """A vector that was saved in shares.

    Attributes:
        elements: Numbers in the vector.
        old_ranks: Ranks that saved it.
        ranks: Ranks that read it.
        seed: Seed of the numbers.
    """

    elements: int
    old_ranks: int
    ranks: int
    seed: int

    def save(self) -> list[Tensor]:
        """Return one share for each old rank, all of one length, with zeros after the end of the vector."""
        length = -(-self.elements // self.old_ranks)
        saved = torch.zeros(length * self.old_ranks)
        quarters = random.Random(self.seed).sample(range(4001, 40000, 2), self.elements)  # too long for 16 bits
        saved[: self.elements] = torch.tensor(quarters) / 4
        return [saved[start : start + length] for start in range(0, len(saved), length)]


def shares_cases(seed: int) -> tuple[SharesCase, ...]:
    """Four ranks to two as in the lesson, two to four, no common factor, ranks without numbers, shares of zeros."""
    draw = random.Random(seed)
    return (
        SharesCase(10, 4, 2, seed),
        SharesCase(draw.choice((9, 13, 17)), 2, 4, seed + 1),
        SharesCase(draw.randrange(30, 40), draw.choice((5, 7)), 3, seed + 2),
        SharesCase(5, 2, 4, seed + 3),
        SharesCase(8 * draw.randrange(2, 5), 8, 2, seed + 4),
        SharesCase(9, 8, 2, seed + 5),
    )


def run_reshard(reshard: Callable[..., Any], case: SharesCase) -> list[dict[str, Any]]:
    """Ask for the share of each rank; return it as a list of numbers, with the count of numbers that were read."""
    saved, answers = case.save(), []
    length = len(saved[0])
    for rank in range(case.ranks):
        read: list[int] = []

        def read_share(old_rank: int, start: int, stop: int, read: list[int] = read) -> Tensor:
            if not 0 <= old_rank < case.old_ranks:
                fail(
                    "no_such_rank",
                    f"an old rank of 0 to {case.old_ranks - 1}",
                    f"read({old_rank}, {start}, {stop}), for {case.elements} elements",
                    "You read the share of a rank that never was. Divide a place in the vector by the length of a "
                    "saved share, which is rounded up.",
                )
            if start is None or stop is None or not 0 <= start <= stop <= length:
                fail(
                    "no_such_place",
                    f"0 <= start <= stop <= {length}: {case.elements} elements, saved by {case.old_ranks} ranks",
                    f"read({old_rank}, {start}, {stop})",
                    "You ask for places that the saved share does not have. Both count within that share: subtract its "
                    "first place in the vector. `stop` is a place, too, and no count.",
                )
            if len(read) > case.elements + case.old_ranks:
                fail(
                    "endless_reads",
                    f"at most {case.elements + case.old_ranks} reads for {case.elements} elements",
                    f"read({old_rank}, {start}, {stop}), and no end",
                    "Your loop makes no progress. Move on by as many numbers as you have read.",
                )
            part = saved[old_rank][start:stop].clone()
            read.append(part.numel())
            return part

        share = reshard(read_share, case.elements, case.old_ranks, case.ranks, rank)
        answers.append({"share": _as_list(share), "read": sum(read)})
    return answers


def _as_list(share: Any) -> list[float]:
    if not isinstance(share, Tensor) or share.dim() != 1:
        measured = f"a tensor of shape {tuple(share.shape)}" if isinstance(share, Tensor) else type(share).__name__
        fail("no_vector_returned", "a 1-D tensor", measured, "Your answer has another form. Return one 1-D tensor.")
    return [float(number) for number in share]
