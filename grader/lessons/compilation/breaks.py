"""Batches with outliers, for a loss that leaves them out in one graph."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.lessons.compilation.captured import fresh_dynamo
from grader.observing.contract import fail
from grader.observing.recording import flat_gradient
from grader.testbed.regressions import make_regression

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class TrimmedCase:
    """Batches of one shape.

    Attributes:
        rows: Rows of each batch.
        features: Numbers of a row.
        limit: Largest loss of a row that counts.
        outliers: For each batch, the rows whose loss is far above the limit.
        seed: Seed of weights and data.
    """

    rows: int
    features: int
    limit: float
    outliers: tuple[int, ...]
    seed: int

    def make_model(self) -> nn.Module:
        """Build a small regression, on the CPU."""
        return make_regression(self.features, self.seed)

    def draw(self) -> list[Batch]:
        """Draw the batches; the targets of outliers are far away."""
        generator = torch.Generator().manual_seed(self.seed)
        batches = []
        with torch.no_grad():
            model = self.make_model()
            for outliers in self.outliers:
                inputs = torch.randn(self.rows, self.features, generator=generator)
                noise = 1.4 * torch.rand(self.rows, 1, generator=generator) - 0.7
                noise[:outliers] = 3 * self.limit**0.5 + torch.rand(outliers, 1, generator=generator)
                order = torch.randperm(self.rows, generator=generator)
                batches.append((inputs, model(inputs) + noise[order]))
        return batches


def trimmed_cases(seed: int) -> tuple[TrimmedCase, ...]:
    """Some rows, no row and all rows above the limit; then another shape; then a row that is exactly at the limit."""
    draw = random.Random(seed)
    rows = draw.randrange(9, 14)
    near = TrimmedCase(7, 5, 1.0, (1,), seed + 2)
    ((inputs, targets),) = near.draw()
    with torch.no_grad():
        *_, within, _ = F.mse_loss(near.make_model()(inputs), targets, reduction="none").flatten().sort().values
    return (
        TrimmedCase(8, 6, 1.0, (2, 0, 8, 3), seed),
        TrimmedCase(rows, draw.randrange(4, 9), 2.0, (draw.randrange(1, 4), rows, 5, rows - 1), seed + 1),
        replace(near, limit=float(within)),
    )


def run_plain(trimmed_loss: Callable[..., Any], case: TrimmedCase) -> list[dict[str, Any]]:
    """Run a function on each batch, forward and backward; return loss, largest loss and gradient of each."""
    model, values = case.make_model(), []
    for inputs, targets in case.draw():
        model.zero_grad()
        answer = trimmed_loss(model, inputs, targets, case.limit)
        loss, largest = require_pair(answer)
        if loss.requires_grad:
            torch.autograd.backward(loss)
        gradient = flat_gradient(model).double()
        loss_value, largest_value = (float(torch.as_tensor(value).detach()) for value in (loss, largest))
        values.append({"loss": loss_value, "largest": largest_value, "gradient": gradient})
    return values


def run_captured(trimmed_loss: Callable[..., Any], case: TrimmedCase) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run a function through `torch.compile`; return its values, and the graphs and breaks."""
    function = getattr(trimmed_loss, "_torchdynamo_orig_callable", trimmed_loss)
    with fresh_dynamo() as captured:
        values = run_plain(torch.compile(function, backend=captured.backend("recorded")), case)
    return values, {"graphs": len(captured.backends), "breaks": list(captured.breaks), "calls": sum(captured.calls)}


def require_pair(answer: Any) -> tuple[Tensor, Any]:
    """Fail unless a function returned a scalar loss and one more value."""
    expected = "(loss, largest): two tensors of one number each"
    look_at = "You return something else. Return the loss and the largest loss of a row, in this order."
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        fail("no_pair_returned", expected, f"a value of type {type(answer).__name__}", look_at)
    loss, largest = answer
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        measured = f"a loss of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else f"a {type(loss).__name__}"
        fail("loss_not_a_scalar_tensor", expected, measured, "You return a loss that backward() cannot start from.")
    if (isinstance(largest, Tensor) and largest.numel() != 1) or not isinstance(largest, Tensor | float | int):
        fail(
            "largest_not_a_number",
            expected,
            f"a {type(largest).__name__}",
            "You return a largest loss that is no tensor. Leave it one: the caller reads it.",
        )
    return loss.reshape(()), largest
