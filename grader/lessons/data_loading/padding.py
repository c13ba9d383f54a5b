"""Rows of unequal lengths whose padding is asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from grader.testbed.row_lengths import make_row_lengths

METHODS: Final = ("fixed", "dynamic", "bucketed", "packed")


@dataclass(frozen=True)
class PaddingCase:
    """Rows of a data set, in their order.

    Attributes:
        lengths: Tokens of each row.
        rows: Rows of a batch.
        time: Positions of a row of fixed batches, and of a packed sequence.
    """

    lengths: tuple[int, ...]
    rows: int
    time: int


def padding_cases(seed: int) -> tuple[PaddingCase, ...]:
    """A data set of many batches, rows that are all long, and a single batch that is not full."""
    draw = random.Random(seed)
    count, longest = draw.randrange(60, 90), draw.choice((48, 64))
    long = tuple(draw.randrange(longest // 3, longest - 2) for _ in range(7 * draw.randrange(3, 6) + 2))
    return (
        PaddingCase((5, 3, 8, 2, 6, 3, 7, 4, 2), 4, 8),
        PaddingCase(tuple(make_row_lengths(count * 8 + 3, 128, seed=seed)), 8, 128),
        PaddingCase(long, 7, longest),
        PaddingCase(tuple(make_row_lengths(5, 20, seed=seed + 1)), 6, 24),
    )
