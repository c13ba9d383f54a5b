"""The second moment that Adafactor keeps, when one decision or another is made otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

SMALLEST = 1e-45  # what is smaller is zero in float32


@dataclass(frozen=True)
class Estimate:
    """The decisions in a factored second moment; as they stand, they are right.

    Attributes:
        row: What is kept of a row: its "mean", its "sum", its "norm" or its "largest" number.
        column: The same of a column.
        division: The product of both is divided by the mean of the rows, "mean"; by their "sum"; by "nothing"; by the
            mean "squared", its "root"; by the "first" or the "largest" row; by the mean of all matrices, "whole"; by
            that over the first dimension of a stack, "across"; or by that of the "current" squares. Or rows and columns
            are "added", "geometric" takes the root of their product, and "rows" or "columns" stand alone.
        memory: A "running" mean; the "current" squares alone; "swapped" weights; a "constant" decay, its "corrected"
            form, as Adam has it; a running "sum"; "added", all squares so far; "undecayed", where the old mean counts
            in full; "plain", the mean over all steps; "lost" each time; with the power of the decay "positive"; or
            "running_corrected", with Adam's correction on top.
        row_memory: That of the rows, where it differs.
        column_memory: That of the columns, where it differs.
        constant: The decay where it is constant.
        is_row_normalised: Whether the row means are kept as they are after the division.
        stride: How much the step count grows in a step.
        offset: Added to the step count.
        epsilon: Added to the "squares", "twice" to them, to the "estimate", to squares and estimate, "both", to the
            "gradient" before it is squared, or not: "none".
        square: What is averaged: "square", "size", or the "gradient" itself; or the "mean" gradient is squared.
        factored: "matrices"; "never"; "two" dimensions only; "vectors" too, as one number; "flat", with all dimensions
            but the first as columns; or "twice", rows and columns exchanged when they are put together.
        fixed_power: A decay_rate that is used whatever the option is.
        fixed_eps: An epsilon that is used whatever the option is.
        gradient: Factor of the gradient.
        underflows: Whether rows and columns are multiplied before the division, in float32.
        result: "estimate", its "root", the "reciprocal" of the root, or the "update" of the step.
    """

    row: str = "mean"
    column: str = "mean"
    division: str = "mean"
    memory: str = "running"
    row_memory: str = ""
    column_memory: str = ""
    constant: float = 0.999
    is_row_normalised: bool = False
    stride: int = 1
    offset: int = 0
    epsilon: str = "squares"
    square: str = "square"
    factored: str = "matrices"
    fixed_power: float | None = None
    fixed_eps: float | None = None
    gradient: float = 1.0
    underflows: bool = False
    result: str = "estimate"


class SecondMoment:
    """The second moment of one tensor, carried from step to step in float64."""

    def __init__(self, recipe: Estimate):
        self.recipe = recipe
        self.decay_rate = 0.0
        self.kept: list[Tensor] = []

    def update(self, gradient: Tensor, clock: float, decay_rate: float, eps: float) -> Tensor:
        """Take in a gradient, and return the estimate, of the same shape.

        Args:
            gradient: In float64.
            clock: The step count that the decay is computed with.
            decay_rate: The means forget with 1 - clock**decay_rate.
            eps: Added to each square.
        """
        recipe = self.recipe
        eps = eps if recipe.fixed_eps is None else recipe.fixed_eps
        self.decay_rate = decay_rate if recipe.fixed_power is None else recipe.fixed_power
        squares = self._squares(recipe.gradient * gradient, eps)
        self.current = squares.mean()
        flat = squares.reshape(squares.shape[0], -1) if recipe.factored == "flat" and squares.dim() > 2 else squares
        means = self._parts(flat)
        if not self.kept:
            self.kept = [torch.zeros_like(mean) for mean in means]
        memories = (recipe.row_memory or recipe.memory, recipe.column_memory or recipe.memory)
        clock = clock * recipe.stride + recipe.offset
        self.kept = [
            self._averaged(old, new, clock, memory)
            for old, new, memory in zip(self.kept, means, memories, strict=False)
        ]
        share = 1 - recipe.constant**clock if recipe.memory in ("corrected", "running_corrected") else 1.0
        estimate = self._joined([part / share for part in self.kept]).reshape(squares.shape)
        if recipe.is_row_normalised and len(self.kept) == 2:
            self.kept[0] = self.kept[0] / self.kept[0].mean(-2, keepdim=True)
        estimate = estimate + (eps if recipe.epsilon in ("estimate", "both") else 0.0)
        if recipe.result == "update":
            return gradient * estimate.rsqrt()
        return {"root": Tensor.sqrt, "reciprocal": Tensor.rsqrt}.get(recipe.result, Tensor.clone)(estimate)

    def _squares(self, gradient: Tensor, eps: float) -> Tensor:
        kind = self.recipe.epsilon
        if kind == "gradient":
            return (gradient + eps).square()
        averaged = {"square": Tensor.square, "size": Tensor.abs}
        squares = averaged.get(self.recipe.square, Tensor.clone)(gradient)
        added = {"squares": eps, "both": eps, "twice": 2 * eps}
        return squares + (0.0 if self.recipe.square == "mean" else added.get(kind, 0.0))

    def _parts(self, squares: Tensor) -> list[Tensor]:
        is_whole = self.recipe.factored == "never" or (self.recipe.factored == "two" and squares.dim() > 2)
        if squares.dim() < 2 or is_whole:
            return [squares.mean().expand(squares.shape) if self.recipe.factored == "vectors" else squares]
        parts = [_summary(squares, -1, self.recipe.row), _summary(squares, -2, self.recipe.column)]
        return [part.square() for part in parts] if self.recipe.square == "mean" else parts

    def _averaged(self, old: Tensor, new: Tensor, clock: float, memory: str) -> Tensor:
        beta = self.recipe.constant
        if memory == "current":
            return new
        if memory == "lost":
            old = torch.zeros_like(old)
        if memory == "positive":
            beta = 1 - clock**-self.decay_rate
        if memory in ("running", "swapped", "sum", "undecayed", "lost", "running_corrected"):
            beta = 1 - max(clock, 1e-9) ** self.decay_rate
        if memory == "plain":
            beta = 1 - 1 / max(clock, 1.0)
        if memory == "swapped":
            beta = 1 - beta
        if memory == "added":
            return old + new
        return (1.0 if memory == "undecayed" else beta) * old + (1.0 if memory == "sum" else 1 - beta) * new

    def _joined(self, parts: list[Tensor]) -> Tensor:
        if len(parts) == 1:
            return parts[0]
        rows, columns = parts
        if self.recipe.factored == "twice" and rows.shape[-2] == columns.shape[-1]:
            rows, columns = columns.transpose(-1, -2), rows.transpose(-1, -2)
        product, kind = rows * columns, self.recipe.division
        joined: dict[str, Callable[[], Tensor]] = {
            "added": lambda: rows + columns,
            "geometric": product.sqrt,
            "rows": lambda: rows.expand_as(product),
            "columns": lambda: columns.expand_as(product),
            "nothing": lambda: product * (product > SMALLEST),
        }
        if kind in joined:
            return joined[kind]()
        if self.recipe.underflows:
            product = product * (product > SMALLEST)
        return product / self._divisor(rows, kind)

    def _divisor(self, rows: Tensor, kind: str) -> Tensor:
        divisors: dict[str, Callable[[], Tensor]] = {
            "sum": lambda: rows.sum(-2, keepdim=True),
            "squared": lambda: rows.mean(-2, keepdim=True).square(),
            "root": lambda: rows.mean(-2, keepdim=True).sqrt(),
            "first": lambda: rows[..., :1, :],
            "largest": lambda: rows.amax(-2, keepdim=True),
            "whole": rows.mean,
            "across": lambda: rows.mean(0, keepdim=True),
            "current": lambda: self.current,
        }
        return divisors.get(kind, lambda: rows.mean(-2, keepdim=True))()


def _summary(squares: Tensor, dimension: int, kind: str) -> Tensor:
    if kind == "sum":
        return squares.sum(dimension, keepdim=True)
    if kind == "norm":
        norm: Tensor = torch.linalg.vector_norm(squares, dim=dimension, keepdim=True)
        return norm
    return squares.amax(dimension, keepdim=True) if kind == "largest" else squares.mean(dimension, keepdim=True)
