"""Tensors that ranks add up."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

BASE = 16


@dataclass(frozen=True)
class ReductionCase:
    """One tensor on each of several ranks.

    Attributes:
        world_size: How many ranks.
        shape: Shape of the tensor.
        seed: Of its values; None for `16**rank` in each element, where a hexadecimal digit of a sum counts a rank.
    """

    world_size: int
    shape: tuple[int, ...]
    seed: int | None = None

    @property
    def elements(self) -> int:
        """How many numbers the tensor has."""
        return torch.Size(self.shape).numel()

    @property
    def is_counting(self) -> bool:
        """Whether each digit of a sum counts one rank."""
        return self.seed is None

    def inputs(self) -> Tensor:
        """Return the tensors of all ranks, [ranks, *shape]: float64 that holds every digit, or random float32."""
        if self.seed is None:
            digits = torch.tensor([float(BASE**rank) for rank in range(self.world_size)], dtype=torch.float64)
            return digits.view(-1, *(1 for _ in self.shape)).repeat(1, *self.shape)
        generator = torch.Generator().manual_seed(self.seed)
        return torch.randn(self.world_size, *self.shape, generator=generator)


def butterfly_cases(seed: int) -> tuple[ReductionCase, ...]:
    """Return cases on 8, 4 and 2 ranks; with tensors shorter than the number of ranks, and of several dimensions."""
    draw = random.Random(seed)
    return (
        ReductionCase(8, (draw.randrange(4, 8),)),
        ReductionCase(8, (3, draw.randrange(3, 9)), draw.randrange(2**31)),
        ReductionCase(4, (draw.randrange(5, 12),)),
        ReductionCase(4, (draw.randrange(20, 40),), draw.randrange(2**31)),
        ReductionCase(2, (draw.randrange(3, 9), 2), draw.randrange(2**31)),
    )


def unsupported_ranks(seed: int) -> ReductionCase:
    """Return a case whose number of ranks is no power of two."""
    return ReductionCase(random.Random(seed).choice((3, 5)), (4,))


def ring_cases(seed: int) -> tuple[ReductionCase, ...]:
    """Return cases on 4 ranks, on an odd number and on one.

    The elements can be shared out evenly in one case only; in another one there are fewer of them than ranks.
    """
    draw = random.Random(seed)
    odd = draw.choice((3, 5))
    return (
        ReductionCase(4, (4 * draw.randrange(3, 6),)),
        ReductionCase(4, (4 * draw.randrange(3, 6) + 2,)),
        ReductionCase(4, (5, 2 * draw.randrange(2, 6) + 1), draw.randrange(2**31)),
        ReductionCase(odd, (odd - 1,)),
        ReductionCase(odd, (odd * draw.randrange(2, 5) + 1, 2), draw.randrange(2**31)),
        ReductionCase(1, (draw.randrange(3, 9),), draw.randrange(2**31)),
    )


def shard_cases(seed: int) -> tuple[ReductionCase, ...]:
    """Return cases on 4 ranks and on an odd number, as for the ring."""
    return tuple(case for case in ring_cases(seed + 1) if case.world_size > 1)


def group_by_ranks(cases: Sequence[ReductionCase]) -> list[tuple[int, list[ReductionCase]]]:
    """Return the cases by their number of ranks, in order: one launch serves those of one number."""
    numbers = dict.fromkeys(case.world_size for case in cases)
    return [(number, [case for case in cases if case.world_size == number]) for number in numbers]
