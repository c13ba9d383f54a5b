"""Misconceptions about what is counted, in all four all-reduces at once; and about the chunks of the ring."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from grader.judging.lessons.collectives.cost_formulas import TENSORS, Cost, cost_of, levels_of
from grader.judging.lessons.collectives.cost_slips import SENT
from grader.lessons.collectives.costs import CostCase
from grader.units import MIB

_ROUNDED = "the bytes of the ring: a chunk is 1 / N of the tensor, also where that is no whole number"
_ROUNDINGS: tuple[Callable[[int, int], float], ...] = (  # of ranks and bytes of the tensor
    lambda n, size: 2 * (n - 1) * (size // n),
    lambda n, size: 2 * (n - 1) * math.ceil(size / n),
    lambda n, size: 2 * (n - 1) * 4 * (size // 4 // n),
    lambda n, size: 2 * (n - 1) * 4 * math.ceil(size / 4 / n),
    lambda n, size: 2 * (n - 1) * round(size / n),
    lambda n, size: 2 * (n - 1) * size // n,
    lambda n, size: round(2 * (n - 1) * size / n),
    lambda n, size: math.ceil(2 * (n - 1) * size / n),
)


def _with_ring_bytes(formula: Callable[[int, int], float], case: CostCase) -> Cost:
    rounds, size = cost_of(case)
    return rounds, formula(case.world_size, case.tensor_bytes) if case.algorithm == "ring" else size


def _of_all_ranks(case: CostCase) -> Cost:
    """Return the bytes of all ranks together."""
    n = case.world_size
    tensors = {"naive": 2 * (n - 1), "tree": 2 * (n - 1), "butterfly": n * levels_of(n), "ring": 2 * (n - 1)}
    return cost_of(case)[0], tensors[case.algorithm] * case.tensor_bytes


def _with_received(case: CostCase) -> Cost:
    rounds, size = cost_of(case)
    return rounds, 2 * size


WHOLE: tuple[tuple[str, Callable[[CostCase], Cost], str], ...] = (
    ("swapped", lambda case: (cost_of(case)[1], cost_of(case)[0]), "the order of the two numbers: rounds, then bytes"),
    (
        "naive_for_all",
        lambda c: (2 * (c.world_size - 1), (c.world_size - 1) * c.tensor_bytes),
        "each of the four by itself: yours all go through rank 0",
    ),
    ("bytes_of_all_ranks", _of_all_ranks, "the rank that sends most, and not all ranks together"),
    ("received_counted_too", _with_received, SENT),
    ("mebibytes_for_bytes", lambda c: (cost_of(c)[0], cost_of(c)[1] / MIB), "the unit: bytes are asked for, not MiB"),
    ("megabytes_for_bytes", lambda c: (cost_of(c)[0], cost_of(c)[1] / 1e6), "the unit: bytes are asked for, not MB"),
    ("elements_for_bytes", lambda c: (cost_of(c)[0], cost_of(c)[1] / 4), "the unit: tensor_bytes are bytes already"),
    (
        "tensors_for_bytes",
        lambda c: (cost_of(c)[0], TENSORS[c.algorithm](c.world_size)),
        "the unit: bytes are asked for, not tensors",
    ),
    *(("ring_bytes_rounded", partial(_with_ring_bytes, formula), _ROUNDED) for formula in _ROUNDINGS),
)
