"""Lengths of rows as texts have them: many short ones, and a few long ones."""

from __future__ import annotations

import random


def make_row_lengths(rows: int, longest: int, *, seed: int = 0) -> list[int]:
    """Draw how many tokens each row has, from a log-normal distribution.

    Args:
        rows: How many rows.
        longest: No row is longer; half of the rows have at most a quarter of it.
        seed: Seed of the lengths.

    Returns:
        One number of tokens for each row, from 2 to `longest`.
    """
    draw = random.Random(seed)
    return [min(longest, max(2, round(longest / 4 * draw.lognormvariate(0, 0.7)))) for _ in range(rows)]
