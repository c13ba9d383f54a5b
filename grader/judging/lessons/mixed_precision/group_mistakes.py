"""Explains the gradient and the norm of an update that should be unscaled and then clipped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.judging.equivalence import compare
from grader.judging.lessons.mixed_precision.near import is_near, is_near_multiple, mean_of
from grader.verdict import Verdict


@dataclass(frozen=True)
class Group:
    """The gradient of one update, with what it should be made of.

    Attributes:
        seen: The gradient right before the step, in one vector.
        parts: The float32 gradient of each micro-batch's mean loss.
        previous: The gradient right before the step of the update before; zeros at the first.
        scale: The loss scale of this update.
        tolerance: How far two runs in 16 bit may lie apart.
    """

    seen: Tensor
    parts: Sequence[Tensor]
    previous: Tensor
    scale: float
    tolerance: float

    @property
    def true_gradient(self) -> Tensor:
        """The gradient of the mean loss of the group, neither scaled nor clipped."""
        return mean_of(self.parts)

    @property
    def true_norm(self) -> float:
        """Its norm."""
        return float(torch.linalg.vector_norm(self.true_gradient))


def explain_gradient(group: Group, max_norm: float, name: str) -> Verdict | None:
    """Return what is wrong with the gradient of an update, or None."""
    kept = min(1.0, max_norm / group.true_norm)
    wanted = kept * group.true_gradient
    if is_near(group.seen, wanted, group.tolerance):
        return None
    wanted_norm = kept * group.true_norm
    clipped = "clipped to" if kept < 1 else "which is not clipped,"
    expected = f"at {name}, the unscaled gradient {clipped} a norm of {wanted_norm:.4g}"
    if not bool(torch.isfinite(group.seen).all()):
        look_at = "gradients of a skipped group that are still there, or a division by zero"
        return Verdict("gradient_not_finite", expected, "inf or NaN", look_at)
    if not bool(group.seen.any()):
        look_at = "what happens between the last backward() and the step"
        return Verdict("cleared_before_update", expected, "no gradient at all", look_at)
    comparison = compare(group.seen, wanted)
    norm = float(torch.linalg.vector_norm(group.seen))
    measured = f"a gradient of norm {norm:.4g}"
    for factor, code, look_at in _known_factors(group, max_norm, kept):
        if is_near_multiple(comparison, factor, group.tolerance):
            return Verdict(code, expected, measured, look_at)
    if comparison.residual <= group.tolerance:
        look_at = f"which product or division leaves a factor of {comparison.factor:.4g}"
        return Verdict("gradient_scaled", expected, measured, look_at)
    return _explain_direction(group, kept, expected, measured)


def _known_factors(group: Group, max_norm: float, kept: float) -> Iterator[tuple[float, str, str]]:
    size, norm = len(group.parts), group.true_norm
    early = min(1.0, max_norm / (group.scale * norm))
    if size > 1 and not math.isclose(min(1.0, max_norm / (size * norm)) * size, kept):
        summed = min(1.0, max_norm / (size * norm)) * size / kept
        yield summed, "gradient_not_averaged", "the loss is not divided by the number of micro-batches of its group"
        shared = min(1.0, max_norm / (norm / size)) / size / kept
        yield shared, "averaged_twice", "two divisions by the number of micro-batches"
    look_at = "the order: the scaled gradient is clipped, and what is left of it divided by the scale"
    yield early / kept, "clipped_before_unscaling", look_at
    look_at = "the clipping: does it come before the step, and on these gradients?"
    yield 1 / kept, "not_clipped", look_at
    look_at = "the step takes the gradients as they are: who divides them by the scale?"
    yield group.scale / kept, "not_unscaled", look_at
    yield group.scale * early / kept, "clipped_and_not_unscaled", look_at
    look_at = "the gradients are divided by the scale twice"
    yield 1 / (group.scale * kept), "divided_by_the_scale_twice", look_at
    look_at = "a clipping to norm 1: max_norm says which norm is the largest"
    yield min(1.0, 1 / norm) / kept, "clipped_to_another_norm", look_at


def _explain_direction(group: Group, kept: float, expected: str, measured: str) -> Verdict:
    last = compare(group.seen, group.parts[-1])
    if len(group.parts) > 1 and last.residual <= group.tolerance:
        measured = f"{last.factor:.3g} times the gradient of the last micro-batch alone"
        return Verdict("cleared_within_group", expected, measured, "where zero_grad() is called")
    if bool(group.previous.any()):
        plus = torch.stack([group.true_gradient, group.previous], dim=1).double()  # [elements, 2]
        shares = torch.linalg.lstsq(plus, group.seen.double().unsqueeze(1)).solution
        if compare(group.seen, (plus @ shares).squeeze(1)).relative_error <= group.tolerance:
            measured = "a gradient that still holds the one of the update before"
            return Verdict("gradient_not_cleared", expected, measured, "zero_grad(), before a group or after a step")
    largest = float(group.seen.abs().max())
    if float((group.seen.abs() >= 0.999 * largest).double().mean()) > 0.05:
        look_at = "each number is cut on its own, which turns the gradient: the norm of all of them is meant"
        return Verdict("clipped_by_value", expected, f"many numbers of exactly {largest:.4g}", look_at)
    return Verdict("other_gradient", expected, measured, "which gradients enter this update, and what is done to them")


def explain_norm(group: Group, max_norm: float, returned: float, name: str) -> Verdict | None:
    """Return what is wrong with the returned norm, or None."""
    norm, size = group.true_norm, len(group.parts)
    if abs(returned - norm) <= group.tolerance * norm:
        return None
    expected = f"{norm:.4g} for {name}: the norm of the unscaled gradient, before it is clipped"
    measured = f"{returned:,.6g}"
    for value, code, look_at in (
        (norm * group.scale, "scaled_norm_returned", "the norm was taken before the gradient was unscaled"),
        (norm * size, "gradient_not_averaged", "the loss is not divided by the number of micro-batches of its group"),
        (norm / size, "averaged_twice", "two divisions by the number of micro-batches"),
        (min(norm, max_norm), "clipped_norm_returned", "the norm was taken after the clipping"),
        (norm**2, "squared_norm_returned", "a norm is the root of the sum of squares"),
    ):
        if abs(returned - value) <= group.tolerance * value:
            return Verdict(code, expected, measured, look_at)
    if not math.isfinite(returned):
        look_at = "this group does not overflow: of which gradients is the norm?"
        return Verdict("norm_not_finite", expected, measured, look_at)
    return Verdict("other_norm_returned", expected, measured, "of which gradients the norm is, and when it is taken")
