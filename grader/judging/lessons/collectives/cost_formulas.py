"""What an all-reduce costs: rounds, and bytes sent by its busiest rank."""

from __future__ import annotations

from collections.abc import Callable

from grader.lessons.collectives.costs import CostCase

Formula = Callable[[int], float]  # of the number of ranks; bytes in tensors
Cost = tuple[float, float]  # rounds, bytes


def levels_of(ranks: int) -> int:
    """Return log2 of a number of ranks, rounded up."""
    return (ranks - 1).bit_length()


ROUNDS: dict[str, Formula] = {
    "naive": lambda n: 2 * (n - 1),
    "tree": lambda n: 2 * levels_of(n),
    "butterfly": levels_of,
    "ring": lambda n: 2 * (n - 1),
}
TENSORS: dict[str, Formula] = {
    "naive": lambda n: n - 1,
    "tree": levels_of,
    "butterfly": levels_of,
    "ring": lambda n: 2 * (n - 1) / n,
}


def cost_of(case: CostCase) -> Cost:
    """Return rounds, and the bytes that the rank sends that sends most."""
    return ROUNDS[case.algorithm](case.world_size), TENSORS[case.algorithm](case.world_size) * case.tensor_bytes
