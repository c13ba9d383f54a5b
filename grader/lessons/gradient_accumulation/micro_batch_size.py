"""Made-up jobs whose largest micro-batch is asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class FitCase:
    """A batch, a budget, and the peak for every micro-batch size.

    Attributes:
        batch: Rows of the whole batch.
        budget_bytes: The most that may be held.
        fixed_bytes: Held whatever the micro-batch.
        row_bytes: Held for each row of a micro-batch.
        gradient_bytes: Held in addition as soon as there is more than one micro-batch.
    """

    batch: int
    budget_bytes: int
    fixed_bytes: int
    row_bytes: int
    gradient_bytes: int

    def peak_bytes(self, micro_batch: int) -> int:
        """Return the peak for micro-batches of so many rows."""
        accumulated_bytes = self.gradient_bytes if micro_batch < self.batch else 0
        return self.fixed_bytes + accumulated_bytes + self.row_bytes * micro_batch


# Batches, each with the largest size that fits: no power of two, and not reached by halving the batch.
ROOMY_SHARES = ((108, 12), (144, 12), (180, 20), (288, 24))
EXACT_SHARES = ((60, 6), (60, 12), (84, 12), (90, 9), (90, 10), (126, 9), (126, 14))


def fit_cases(seed: int) -> tuple[FitCase, ...]:
    """Seven settings.

    The sizes up to the next divisor fit too; the peak of the right size equals the budget; one row fits and no more;
    the whole batch fits, and one row with a higher peak, and nothing between; the whole batch fits and nothing else;
    all sizes fit; nothing fits.
    """
    draw = random.Random(seed)
    row, fixed = draw.randrange(900, 1100) * 2**10, draw.randrange(90, 110) * 2**20
    roomy_batch, roomy_size = draw.choice(ROOMY_SHARES)
    exact_batch, exact_size = draw.choice(EXACT_SHARES)
    next_size = next(size for size in range(roomy_size + 1, roomy_batch + 1) if roomy_batch % size == 0)
    whole = 8 * draw.randrange(2, 5)
    return (
        FitCase(roomy_batch, fixed + (next_size - 1) * row, fixed, row, 0),
        FitCase(exact_batch, fixed + exact_size * row, fixed, row, 0),
        FitCase(exact_batch, fixed + row, fixed, row, 0),
        FitCase(whole, fixed + (whole + 1) * row, fixed, row, whole * row),
        FitCase(2 * whole, fixed + 2 * whole * row, fixed, row, 2 * whole * row),
        FitCase(whole, fixed + whole * row, fixed, row, 0),
        FitCase(8 * draw.randrange(2, 5), fixed, fixed, row, 0),
    )
