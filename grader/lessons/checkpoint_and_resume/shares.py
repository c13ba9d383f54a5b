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
        saved[: self.elements] = torch.tensor(random.Random(self.seed).sample(range(1, 1000), self.elements))
        return [saved[start : start + length] for start in range(0, len(saved), length)]


def shares_cases(seed: int) -> tuple[SharesCase, ...]:
    """Four ranks to two as in the lesson, two to four, numbers of ranks that share no factor, ranks without numbers."""
    draw = random.Random(seed)
    return (
        SharesCase(10, 4, 2, seed),
        SharesCase(draw.choice((9, 13, 17)), 2, 4, seed + 1),
        SharesCase(draw.randrange(30, 40), draw.choice((5, 7)), 3, seed + 2),
        SharesCase(5, 2, 4, seed + 3),
        SharesCase(8 * draw.randrange(2, 5), 4, 2, seed + 4),
    )


def run_reshard(reshard: Callable[..., Any], case: SharesCase) -> list[dict[str, Any]]:
    """Ask for the share of each rank; return it as a list of numbers, with the count of numbers that were read."""
    saved, answers = case.save(), []
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
