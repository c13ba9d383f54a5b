"""Scores that arrive tile by tile, and the running softmax that merges them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.observing.contract import fail

ROWS, HEADS, HEAD_DIM = 2, 2, 3
PARTS = ("highest", "total", "mixed")


@dataclass(frozen=True)
class MergeCase:
    """The scores of some queries, in tiles of keys.

    Attributes:
        queries: Queries of each head.
        widths: Keys of each tile, in order.
        spread: Standard deviation of a score.
        drift: By how much the scores of a tile exceed those of the tile before.
        has_hidden: Whether every second query sees no key of the last tile, and a query misses some keys of others.
        seed: Seed of the draw.
    """

    queries: int
    widths: tuple[int, ...]
    spread: float
    drift: float
    has_hidden: bool
    seed: int

    def draw(self) -> list[tuple[Tensor, Tensor]]:
        """Draw scores [rows, heads, queries, keys] and values [rows, heads, keys, head_dim] of each tile."""
        generator = torch.Generator().manual_seed(self.seed)
        tiles = []
        for number, width in enumerate(self.widths):
            scores = torch.randn(ROWS, HEADS, self.queries, width, generator=generator, dtype=torch.float64)
            scores = self.spread * scores + self.drift * number
            if self.has_hidden and number:
                scores[..., ::2, : width if number == len(self.widths) - 1 else 1] = -torch.inf
            value = torch.randn(ROWS, HEADS, width, HEAD_DIM, generator=generator, dtype=torch.float64)
            tiles.append((scores, value))
        return tiles


def merge_cases(seed: int) -> tuple[MergeCase, ...]:
    """Moderate scores, scores whose exponential overflows, rising and falling, and queries that miss a tile."""
    draw = random.Random(seed)
    drift = draw.uniform(1.0, 2.0)
    return (
        MergeCase(4, (3, 3, 2), 1.0, drift, False, seed),
        MergeCase(draw.randrange(3, 6), (4, 2, 4), 3.0, draw.choice((900.0, 1100.0)), False, seed + 1),
        MergeCase(draw.randrange(4, 7), (2, 4, 3, 1), 2.0, -drift, True, seed + 2),
    )


def run_merges(merge_tile: Callable[..., Any], case: MergeCase) -> dict[str, Tensor]:
    """Merge all tiles of a case; return the three tensors after the last tile."""
    shape = (ROWS, HEADS, case.queries)
    state: tuple[Tensor, ...] = (
        torch.full(shape, -torch.inf, dtype=torch.float64),
        torch.zeros(shape, dtype=torch.float64),
        torch.zeros(*shape, HEAD_DIM, dtype=torch.float64),
    )
    for scores, value in case.draw():
        state = _require_state(merge_tile(*state, scores, value), state)
    return dict(zip(PARTS, state, strict=True))


def _require_state(found: Any, before: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Fail unless a merge returned three tensors with the shapes of those that it received."""
    expected = "three tensors: highest, total, mixed"
    if found is None:
        fail("returned_none", expected, "None", "Your function returns nothing. Look at its last line.")
    if not isinstance(found, tuple | list) or len(found) != 3 or not all(isinstance(one, Tensor) for one in found):
        look_at = "You return something other than the three tensors. Keep the return line of the exercise."
        fail("no_triple_returned", expected, type(found).__name__, look_at)
    shapes, own_shapes = [tensor.shape for tensor in found], [tensor.shape for tensor in before]
    if shapes != own_shapes and sorted(shapes) == sorted(own_shapes):
        measured = ", ".join(str(tuple(shape)) for shape in shapes)
        look_at = "You return the three tensors in another order: highest, total, mixed. Look at your return line."
        fail("returned_in_another_order", ", ".join(str(tuple(shape)) for shape in own_shapes), measured, look_at)
    for name, tensor, own in zip(PARTS, found, before, strict=True):
        if tensor.shape != own.shape:
            look_at = "You return a tensor of another shape. Look at the dimension over which sums and maxima run."
            fail("wrong_shape", f"{name} of shape {tuple(own.shape)}", f"shape {tuple(tensor.shape)}", look_at)
    return tuple(tensor.double() for tensor in found)
