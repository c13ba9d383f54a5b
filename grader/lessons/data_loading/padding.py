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
    """The example, many batches, long rows, one batch that is not full, and rows for which each way to fit differs."""
    draw = random.Random(seed)
    count, longest = draw.randrange(60, 90), draw.choice((48, 64))
    long = tuple(draw.randrange(longest // 3, longest - 2) for _ in range(7 * draw.randrange(3, 6) + 2))
    scale = draw.choice((1, 2, 3))
    fits = [scale * length for length in (14, 12, 11, 11, 10, 8, 8, 6, 6, 4, 3, 2)]  # best or worst fit needs fewer
    draw.shuffle(fits)
    return (
        PaddingCase((5, 3, 8, 2, 6, 3, 7, 4, 2), 4, 8),
        PaddingCase(tuple(make_row_lengths(count * 8 + 3, 128, seed=seed)), 8, 128),
        PaddingCase(long, 7, longest),
        PaddingCase(tuple(make_row_lengths(5, 20, seed=seed + 1)), 6, 24),
        PaddingCase(tuple(fits), 5, 24 * scale),
    )
