"""Matrices whose rows and columns differ in size by orders of magnitude."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.lessons.fp8_training.operands import Operands
from grader.observing.contract import fail, require_tensor


@dataclass(frozen=True)
class ProductCase:
    """Two matrices.

    Attributes:
        rows: Rows of the first.
        inner: Columns of the first, rows of the second.
        columns: Columns of the second.
        decades: Orders of magnitude over which rows and columns spread.
        has_extremes: Whether a row of the first and a column of the second are zero, and another of each is tiny.
        is_uneven: Whether the first is small where the second is large: a value far below its row's largest counts.
        seed: Seed of the draw.
    """

    rows: int
    inner: int
    columns: int
    decades: float
    has_extremes: bool
    is_uneven: bool
    seed: int

    def draw(self) -> tuple[Tensor, Tensor]:
        """Draw the matrices, [rows, inner] and [inner, columns]."""
        draw = torch.Generator().manual_seed(self.seed)

        def sizes(count: int) -> Tensor:
            return 10 ** (-self.decades * torch.rand(count, generator=draw))

        a = torch.randn(self.rows, self.inner, generator=draw) * sizes(self.rows).unsqueeze(1)
        b = torch.randn(self.inner, self.columns, generator=draw) * sizes(self.columns)
        if self.is_uneven:
            half = self.inner // 2
            a[:, half:] *= 2e-4  # many of these are subnormal in e4m3
            b[:half] *= 2e-4
            return a, b
        a[0, 0], b[-1, -1] = -30 * a.abs().max(), -30 * b.abs().max()  # the largest magnitude has a minus sign
        if self.has_extremes:
            a[1], b[:, 0] = 0, 0
            a[2], b[:, 1] = a[2] * (1e-15 / a[2].abs().max()), b[:, 1] * (1e-15 / b[:, 1].abs().max())
        return a, b


def product_cases(seed: int) -> tuple[ProductCase, ...]:
    """A square product; two that are not square, one with zeros and tiny rows; one with a long, uneven sum."""
    draw = random.Random(seed)
    shape = draw.randrange(5, 9), draw.randrange(17, 33), draw.randrange(10, 15)
    return (
        ProductCase(16, 16, 16, 5.0, False, False, seed),
        ProductCase(*shape, 3.0, True, False, seed + 1),
        ProductCase(shape[2], shape[1] + 3, shape[0], 6.0, False, False, seed + 2),
        ProductCase(shape[2], 4 * shape[1] + 1, shape[0], 0.0, False, True, seed + 3),
    )


def run_product(product: Callable[..., Any], case: ProductCase) -> tuple[Tensor, list[bool]]:
    """Ask for the product of one case; return it, and for each matrix product whether its operands were in fp8."""
    a, b = case.draw()
    own = a.clone(), b.clone()
    try:
        with Operands() as operands:
            found = product(*own)
    except RuntimeError as error:
        if "must match the size" not in str(error):
            raise
        expected = "scales that go with the rows of a and the columns of b"
        look_at = "Your scales do not fit what you divide. Which dimension of each operand is left in the product?"
        fail("scales_do_not_fit", expected, str(error)[:120], look_at)
    if not (torch.equal(own[0], a) and torch.equal(own[1], b)):
        look_at = "You change `a` or `b` in place, and they belong to the caller. Write the scaled matrix elsewhere."
        fail("arguments_changed", "`a` and `b` as they were", "other values in them after the call", look_at)
    finite = found.nan_to_num() if isinstance(found, Tensor) else found  # NaN is left to the judge
    require_tensor(finite, "the product", shape=(case.rows, case.columns), like=a)
    return found.detach(), operands.products
