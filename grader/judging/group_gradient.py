"""Explains a wrong gradient of one group of micro-batches: by which factor, or from which of them, it came about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, Comparison, compare

Explanation = tuple[str, str, str]  # code, measured, look_at


@dataclass(frozen=True)
class GroupGradient:
    """The gradient that was seen at one update, with what it should be made of.

    Attributes:
        seen: All gradients right before the update, in one vector.
        parts: The gradient of the mean loss of each micro-batch of the group.
        previous: The gradient that was seen at the update before; zeros at the first.
        k: Micro-batches of a full group.
    """

    seen: Tensor
    parts: Sequence[Tensor]
    previous: Tensor
    k: int

    @property
    def wanted(self) -> Tensor:
        """The gradient of the mean loss of the group."""
        return torch.stack(list(self.parts)).mean(dim=0)

    @property
    def is_right(self) -> bool:
        """Whether the gradient is the one of the group's mean loss."""
        return compare(self.seen, self.wanted).is_equal

    def explain(self) -> Explanation:
        """Return the code, what was measured and where to look, for a gradient that is not right."""
        comparison = compare(self.seen, self.wanted)
        if not bool(torch.isfinite(self.seen).all()):
            return "gradient_not_finite", "NaN or infinity in that gradient", "a division by zero, or an overflow"
        if not bool(self.seen.any()):
            look_at = "what happens between the last backward() and optimizer.step()"
            return "cleared_before_update", "no gradient at all", look_at
        if comparison.residual <= RELATIVE_TOLERANCE:
            return self._explain_factor(comparison)
        return self._explain_mixture(comparison)

    def _explain_factor(self, comparison: Comparison) -> Explanation:
        measured = f"exactly {comparison.factor:.4g} times that gradient"
        for factor, code, look_at in self._known_factors():
            if comparison.is_multiple(factor):
                return code, measured, look_at
        norm = float(torch.linalg.vector_norm(self.seen))
        if abs(norm - 1) < 1e-3:
            return "gradient_clipped", f"{measured}, of norm {norm:.3f}", "a clipping to norm 1 that is not asked for"
        divisor = len(self.parts) / comparison.factor
        if 0.5 < divisor < 100 and abs(divisor - round(divisor)) < 1e-3 * divisor:
            measured += f", as after a division by {divisor:.0f}"
            look_at = f"a division by {divisor:.0f}: which of your numbers is that, and how many are in the group?"
            return "divided_by_another_number", measured, look_at
        return "gradient_scaled", measured, f"which division or product leaves a factor of {comparison.factor:.4g}"

    def _known_factors(self) -> Iterator[tuple[float, str, str]]:
        size, share = len(self.parts), len(self.parts) / self.k
        if size > 1:
            look_at = "the loss is not divided by the number of micro-batches of its group"
            yield size, "gradient_not_averaged", look_at
        if size < self.k:
            look_at = f"the short last group has {size} of {self.k} micro-batches: what is its loss divided by?"
            yield share, "short_group_divided_by_k", look_at
            look_at = f"the correction of the short last group: {size} / {self.k}, or {self.k} / {size}?"
            yield share**2, "short_group_corrected_the_wrong_way", look_at
        if size > 1:
            look_at = "two divisions by the number of micro-batches, one of them hidden"
            yield 1 / size, "gradient_divided_twice", look_at

    def _explain_mixture(self, comparison: Comparison) -> Explanation:
        last = compare(self.seen, self.parts[-1])
        if last.residual <= RELATIVE_TOLERANCE:
            measured = f"{last.factor:.4g} times the gradient of the last micro-batch alone"
            return "cleared_within_group", measured, "where zero_grad() is called"
        if bool(self.previous.any()) and compare(self.seen - self.previous, self.wanted).is_equal:
            measured = "that gradient plus the one of the last update"
            return "gradient_not_cleared", measured, "zero_grad() after an update"
        weights = mixture(self.seen, self.parts)
        if weights is not None:
            measured = f"its micro-batches with the weights {', '.join(f'{weight:.3g}' for weight in weights)}"
            return "micro_batches_weighed_unequally", measured, "by what the loss of each micro-batch is divided"
        measured = f"a gradient that differs from it by {comparison.relative_error:.0%}"
        return "other_gradient", measured, "which micro-batches enter which update, and in which order"


def mixture(seen: Tensor, parts: Sequence[Tensor]) -> list[float] | None:
    """Return the weights with which `parts` add up to `seen`; None if no weights do."""
    columns = torch.stack(list(parts), dim=1).double()  # [elements, parts]
    weights = torch.linalg.lstsq(columns, seen.double().unsqueeze(1)).solution  # [parts, 1]
    if not compare(seen, (columns @ weights).squeeze(1)).is_equal:
        return None
    return [float(weight) for weight in weights.flatten()]
