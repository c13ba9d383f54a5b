"""Matrices whose rows and columns differ in size by orders of magnitude."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.observing.contract import fail


@dataclass(frozen=True)
class ProductCase:
    """Two matrices.

    Attributes:
        rows: Rows of the first.
        inner: Columns of the first, rows of the second.
        columns: Columns of the second.
        decades: Orders of magnitude over which rows and columns spread.
        has_zeros: Whether one row of the first and one column of the second are zero.
        seed: Seed of the draw.
    """

    rows: int
    inner: int
    columns: int
    decades: float
    has_zeros: bool
    seed: int

    def draw(self) -> tuple[Tensor, Tensor]:
        """Draw the matrices, [rows, inner] and [inner, columns]."""
        draw = torch.Generator().manual_seed(self.seed)

        def sizes(count: int) -> Tensor:
            return 10 ** (-self.decades * torch.rand(count, generator=draw))

        a = torch.randn(self.rows, self.inner, generator=draw) * sizes(self.rows).unsqueeze(1)
        b = torch.randn(self.inner, self.columns, generator=draw) * sizes(self.columns)
        a[0, 0], b[-1, -1] = -30 * a.abs().max(), -30 * b.abs().max()  # the largest magnitude has a minus sign
        if self.has_zeros:
            a[1], b[:, 0] = 0, 0
        return a, b


def product_cases(seed: int) -> tuple[ProductCase, ...]:
    """A square product; two that are not square, one of them with zeros."""
    draw = random.Random(seed)
    shape = draw.randrange(5, 9), draw.randrange(17, 33), draw.randrange(10, 15)
    return (
        ProductCase(16, 16, 16, 5.0, False, seed),
        ProductCase(*shape, 3.0, True, seed + 1),
        ProductCase(shape[2], shape[1] + 3, shape[0], 6.0, False, seed + 2),
    )


def run_product(product: Callable[..., Any], case: ProductCase) -> Any:
    """Ask for the product of one case."""
    a, b = case.draw()
    try:
        return product(a, b)
    except RuntimeError as error:
        if "must match the size" not in str(error):
            raise
        expected = "scales that go with the rows of a and the columns of b"
        look_at = "Your scales do not fit what you divide. Which dimension of each operand is left in the product?"
        fail("scales_do_not_fit", expected, str(error)[:120], look_at)
