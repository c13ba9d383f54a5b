"""The second moment that Adafactor keeps, when one decision or another is made otherwise."""

from __future__ import annotations

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
            mean "squared", its "root"; by the "first" or the "largest" row; by the mean of all matrices, "whole"; or by
            that of the "current" squares. Or rows and columns are "added", "geometric" takes the root of their
            product, and "rows" or "columns" stand alone.
        memory: A "running" mean; the "current" squares alone; "swapped" weights; a "constant" decay of 0.999, its
            "corrected" form, as Adam has it; a running "sum"; "plain", the mean over all steps; "lost" each time; with
            the power of the decay "positive"; or "running_corrected", with Adam's correction on top.
        row_memory: That of the rows, where it differs.
        column_memory: That of the columns, where it differs.
        stride: How much the step count grows in a step.
        epsilon: Added to the "squares", to the "estimate", to its "root", to squares and estimate, "both",
            or not: "none".
        square: What is averaged: "square" or "size".
        factored: "matrices"; "never"; "two" dimensions only; "vectors" too, as one number; "flat", with all dimensions
            but the first as columns; or "twice", rows and columns exchanged when they are put together.
        fixed_power: A decay_rate that is used whatever the option is.
        fixed_eps: An epsilon that is used whatever the option is.
        gradient: Factor of the gradient.
        underflows: Whether rows and columns are multiplied before the division, in float32.
        result: "estimate", its "root", or the "reciprocal" of the root.
    """

    row: str = "mean"
    column: str = "mean"
    division: str = "mean"
    memory: str = "running"
    row_memory: str = ""
    column_memory: str = ""
    stride: int = 1
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

    def __init__(self, recipe: Estimate, decay_rate: float, eps: float):
        self.recipe = recipe
        self.eps = eps if recipe.fixed_eps is None else recipe.fixed_eps
        self.decay_rate = decay_rate if recipe.fixed_power is None else recipe.fixed_power
        self.kept: list[Tensor] = []

    def update(self, gradient: Tensor, clock: float) -> Tensor:
        """Take in a gradient, and return the estimate, of the same shape.

        Args:
            gradient: In float64.
            clock: The step count that the decay is computed with.
        """
        recipe, scaled = self.recipe, self.recipe.gradient * gradient
        squares = scaled.abs() if recipe.square == "size" else scaled.square()
        squares = squares + (self.eps if recipe.epsilon in ("squares", "both") else 0.0)
        self.current = squares.mean()
        flat = squares.reshape(squares.shape[0], -1) if recipe.factored == "flat" and squares.dim() > 2 else squares
        means = self._parts(flat)
        if not self.kept:
            self.kept = [torch.zeros_like(mean) for mean in means]
        memories = (recipe.row_memory or recipe.memory, recipe.column_memory or recipe.memory)
        clock *= recipe.stride
        self.kept = [
            self._averaged(old, new, clock, memory)
            for old, new, memory in zip(self.kept, means, memories, strict=False)
        ]
        share = 1 - 0.999**clock if recipe.memory in ("corrected", "running_corrected") else 1.0
        estimate = self._joined([part / share for part in self.kept]).reshape(squares.shape)
        estimate = estimate + (self.eps if recipe.epsilon in ("estimate", "both") else 0.0)
        results = {"root": estimate.sqrt(), "reciprocal": estimate.rsqrt()}
        return results.get(recipe.result, estimate)

    def _parts(self, squares: Tensor) -> list[Tensor]:
        is_whole = self.recipe.factored == "never" or (self.recipe.factored == "two" and squares.dim() > 2)
        if squares.dim() < 2 or is_whole:
            return [squares.mean().expand(squares.shape) if self.recipe.factored == "vectors" else squares]
        return [_summary(squares, -1, self.recipe.row), _summary(squares, -2, self.recipe.column)]

    def _averaged(self, old: Tensor, new: Tensor, clock: float, memory: str) -> Tensor:
        beta = 0.999
        if memory == "current":
            return new
        if memory == "lost":
            old = torch.zeros_like(old)
        if memory == "positive":
            beta = 1 - clock**-self.decay_rate
        if memory in ("running", "swapped", "sum", "lost", "running_corrected"):
            beta = 1 - max(clock, 1e-9) ** self.decay_rate
        if memory == "plain":
            beta = 1 - 1 / max(clock, 1.0)
        if memory == "swapped":
            beta = 1 - beta
        return beta * old + (1.0 if memory == "sum" else 1 - beta) * new

    def _joined(self, parts: list[Tensor]) -> Tensor:
        if len(parts) == 1:
            return parts[0]
        rows, columns = parts
        if self.recipe.factored == "twice" and rows.shape[-2] == columns.shape[-1]:
            rows, columns = columns.transpose(-1, -2), rows.transpose(-1, -2)
        mean = rows.mean(-2, keepdim=True)
        divisors = {
            "mean": mean,
            "sum": rows.sum(-2, keepdim=True),
            "squared": mean.square(),
            "root": mean.sqrt(),
            "first": rows[..., :1, :],
            "largest": rows.amax(-2, keepdim=True),
            "whole": rows.mean(),
            "current": self.current,
        }
        product = rows * columns
        joined = {"added": rows + columns, "geometric": product.sqrt()}
        joined |= {"rows": rows.expand_as(product), "columns": columns.expand_as(product)}
        if self.recipe.division in joined:
            return joined[self.recipe.division]
        if self.recipe.underflows:
            product = product * (product > SMALLEST)
        return product / divisors.get(self.recipe.division, torch.ones_like(mean))


def _summary(squares: Tensor, dimension: int, kind: str) -> Tensor:
    if kind == "sum":
        return squares.sum(dimension, keepdim=True)
    if kind == "norm":
        norm: Tensor = torch.linalg.vector_norm(squares, dim=dimension, keepdim=True)
        return norm
    return squares.amax(dimension, keepdim=True) if kind == "largest" else squares.mean(dimension, keepdim=True)
