"""Data sets whose rows are put into batches of similar length, by several seeds and epochs."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from grader.observing.contract import fail
from grader.testbed.row_lengths import make_row_lengths

# What is asked for: the seed and the epoch of each call. The first is asked for twice.
CALLS = ((7, 0), (7, 0), (7, 1), (7, 2), (8, 0))
Batches = list[list[int]]


@dataclass(frozen=True)
class BucketCase:
    """Rows of a data set, in their order.

    Attributes:
        count: How many rows there are.
        rows: Rows of a batch.
        pool: Batches that are cut from one sorted pool.
        seed: Seed of the lengths.
    """

    count: int
    rows: int
    pool: int
    seed: int

    @property
    def lengths(self) -> list[int]:
        """The tokens of each row."""
        return make_row_lengths(self.count, 128, seed=self.seed)


def bucket_cases(seed: int) -> tuple[BucketCase, ...]:
    """A last batch that is short, full batches in a last pool that is short, and a last batch of one row."""
    draw = random.Random(seed)
    rows = draw.choice((5, 6, 7))
    return (
        BucketCase(203, 8, 6, seed),
        BucketCase(rows * draw.randrange(41, 45), rows, 10, seed + 1),
        BucketCase(4 * draw.randrange(40, 60) + 1, 4, 12, seed + 2),
    )


def run_buckets(bucket_batches: Callable[..., Any], case: BucketCase) -> dict[str, Any]:
    """Ask for the batches of each call, and note whether the global random state moved."""
    answers: list[Batches] = []
    moved = False
    for number, (seed, epoch) in enumerate(CALLS):
        lengths = case.lengths
        torch.manual_seed(1000 + number)  # what other code has drawn before
        random.seed(1000 + number)
        states = torch.get_rng_state(), random.getstate()
        answers.append(_batches(bucket_batches(lengths, case.rows, case.pool, seed, epoch)))
        moved |= not torch.equal(states[0], torch.get_rng_state()) or states[1] != random.getstate()
        if lengths != case.lengths:
            look_at = "You change the list of lengths. Sort the row numbers, not the lengths."
            fail("lengths_changed", "the list of lengths as it was", "another list", look_at)
    return {"answers": answers, "moved": moved}


def _batches(value: Any) -> Batches:
    expected = "a list of batches, each a list of row numbers"
    if value is None:
        fail("returned_none", expected, "None", "You return nothing. Return the list of batches.")
    if not isinstance(value, list | tuple) or not all(hasattr(batch, "__iter__") for batch in value):
        found = f"{type(value).__name__}: {value!r}"[:80]
        fail("no_list_of_batches", expected, found, "You return no list of batches. Cut the rows into lists of `rows`.")
    return [[_number(row, expected) for row in batch] for batch in value]


def _number(row: Any, expected: str) -> int:
    is_whole = isinstance(row, int | torch.Tensor) or type(row).__module__ == "numpy"
    if not is_whole or isinstance(row, bool):
        found = f"a row number of type {type(row).__name__}"
        fail("no_row_numbers", expected, found, "You return something else than row numbers. Look at what you append.")
    return int(row)
