"""Explains the gradient of an update within a byte budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.group_gradient import mixture
from grader.judging.vectors import gradient_at
from grader.lessons.mixed_precision.budget import BudgetCase
from grader.verdict import Verdict


def explain_budget_gradient(
    case: BudgetCase, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> Verdict | None:
    """Return what is wrong with the gradient right before the update, or None."""
    seen, wanted = tensors["gradient.0"], gradient_of_rows(case, case.rows)
    comparison = compare(seen, wanted)
    if comparison.is_equal:
        return None
    expected = f"the gradient of the mean loss of all {case.rows} rows"
    if set(facts["autocast_formats"]) - {"float32"}:
        measured = f"a gradient that differs from it by {comparison.relative_error:.1%}, from forwards in 16 bit"
        look_at = "fewer bits change the gradient: which of your tools leave it as it is?"
        return Verdict("computed_in_16_bit", expected, measured, look_at)
    if not bool(torch.isfinite(seen).all()):
        return Verdict("gradient_not_finite", expected, "NaN or infinity", "a division by zero, or an overflow")
    return _explain_gradient(case, seen, expected)


def _explain_gradient(case: BudgetCase, seen: Tensor, expected: str) -> Verdict:
    wanted = gradient_of_rows(case, case.rows)
    comparison = compare(seen, wanted)
    measured = f"a gradient that differs from it by {comparison.relative_error:.0%}"
    if comparison.residual <= RELATIVE_TOLERANCE:
        measured = f"exactly {comparison.factor:.4g} times that gradient"
    for code, gradient, look_at in _known(case, wanted):
        if compare(seen, gradient).is_equal:
            return Verdict(code, expected, measured, look_at)
    rows = [gradient_of_rows(case, 1, start) for start in range(case.rows)]
    weights = mixture(seen, rows)
    if weights is not None and comparison.residual > RELATIVE_TOLERANCE:
        measured = f"a gradient whose rows weigh {', '.join(f'{weight:.3g}' for weight in weights)}"
        look_at = "micro-batches with unequal numbers of rows: does every row weigh the same?"
        return Verdict("rows_weighed_unequally", expected, measured, look_at)
    divisor = case.rows / comparison.factor if comparison.factor else 0.0
    if comparison.residual <= RELATIVE_TOLERANCE and divisor > 0.5 and abs(divisor - round(divisor)) < 1e-3:
        measured += f", as after a division by {divisor:.0f}"
        look_at = f"a division by {divisor:.0f}: how many rows are there in this batch?"
        return Verdict("divided_by_another_number", expected, measured, look_at)
    if comparison.residual <= RELATIVE_TOLERANCE:
        look_at = f"which division or product leaves a factor of {comparison.factor:.4g}"
        return Verdict("gradient_scaled", expected, measured, look_at)
    return Verdict("other_gradient", expected, measured, "which parameters get a gradient, and from which rows")


def _known(case: BudgetCase, wanted: Tensor) -> Iterator[tuple[str, Tensor, str]]:
    look_at = "the loss of each part is a mean: what makes their sum the mean of all?"
    yield "gradient_not_averaged", wanted * case.rows, look_at
    look_at = "two divisions by the number of parts"
    yield "gradient_divided_twice", wanted / case.rows, look_at
    look_at = "cross_entropy's sum: by how many tokens is it divided?"
    yield "sum_not_divided", wanted * case.rows * case.time, look_at
    look_at = "zero_grad(), or a step on one part: what is left in .grad of the parts before?"
    for divisor in (1, case.rows):
        yield "last_row_only", gradient_of_rows(case, 1, case.rows - 1) / divisor, look_at


def _weights(case: BudgetCase) -> Tensor:
    return torch.cat([weight.detach().flatten() for weight in case.make_model().parameters()])


@lru_cache(maxsize=64)
def gradient_of_rows(case: BudgetCase, rows: int, start: int = 0) -> Tensor:
    """Return the gradient of the mean loss of some rows."""
    model = case.make_model()
    tokens, targets = (part[start : start + rows] for part in case.make_batch())

    def loss(_: int) -> Tensor:
        return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())

    return gradient_at(model, loss, _weights(case), 0)
