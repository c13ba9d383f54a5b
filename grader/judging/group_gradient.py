"""Explains a wrong gradient of one group of micro-batches: by a factor, or by the micro-batches that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, Comparison, compare
from grader.judging.misconceptions import Misconception, Table


@dataclass(frozen=True, eq=False)
class GroupGradient:
    """The gradient that was seen at one update, with what it should be made of.

    Attributes:
        seen: All gradients right before the update, in one vector.
        parts: The gradient of the mean loss of each micro-batch of the group.
        previous: The gradient that was seen at the update before; zeros at the first.
        k: Micro-batches of a full group.
        update: Which update it is, counted from 1.
    """

    seen: Tensor
    parts: Sequence[Tensor]
    previous: Tensor
    k: int
    update: int = 1

    @cached_property
    def wanted(self) -> Tensor:
        """The gradient of the mean loss of the group."""
        return torch.stack(list(self.parts)).mean(dim=0)

    @cached_property
    def comparison(self) -> Comparison:
        """How the gradient that was seen relates to the right one."""
        return compare(self.seen, self.wanted)

    @property
    def is_right(self) -> bool:
        """Whether the gradient is the one of the group's mean loss."""
        return self.comparison.is_equal

    @property
    def is_factor(self) -> bool:
        """Whether the gradient is a multiple of the right one."""
        return self.comparison.residual <= RELATIVE_TOLERANCE

    @property
    def size(self) -> int:
        """Micro-batches of the group."""
        return len(self.parts)

    @property
    def members(self) -> str:
        """The group, in words."""
        return "micro-batch" if self.size == 1 else f"{self.size} micro-batches"

    @property
    def norm(self) -> float:
        """Norm of the gradient that was seen."""
        return float(torch.linalg.vector_norm(self.seen))

    @property
    def divisor(self) -> float:
        """What the sum of the group's gradients was divided by."""
        return self.size / self.comparison.factor

    @property
    def is_divided(self) -> bool:
        """Whether that divisor is a whole number."""
        return 0.5 < self.divisor < 100 and abs(self.divisor - round(self.divisor)) < 1e-3 * self.divisor

    @cached_property
    def of_last(self) -> Comparison:
        """How the gradient that was seen relates to the one of the last micro-batch alone."""
        return compare(self.seen, self.parts[-1])

    @property
    def is_kept(self) -> bool:
        """Whether the gradient is the right one plus that of the update before."""
        return bool(self.previous.any()) and compare(self.seen - self.previous, self.wanted).is_equal

    @cached_property
    def weights(self) -> list[float] | None:
        """The weights with which the micro-batches add up to the gradient; None if no weights do."""
        return mixture(self.seen, self.parts)

    @property
    def named_weights(self) -> str:
        """The weights, in words."""
        return ", ".join(f"{weight:.3g}" for weight in self.weights or ())


CLIP_LIMITS = (0.01, 0.1, 0.5, 1, 2, 5)
FACTOR = "exactly {comparison.factor:.4g} times that gradient"

GROUP_GRADIENT = Table[GroupGradient](
    Misconception(
        "gradient_not_finite",
        "Your gradient holds NaN or infinity. Look for a division by zero, or a product that overflows.",
        shown_by=lambda group: not bool(torch.isfinite(group.seen).all()),
        measured="NaN or infinity in that gradient",
    ),
    Misconception(
        "cleared_before_update",
        "Your update finds no gradient. Look for a zero_grad() in front of it, and for what cuts the loss off from the "
        "model: no_grad, detach or item.",
        shown_by=lambda group: not bool(group.seen.any()),
        measured="no gradient at all",
    ),
    Misconception(
        "gradient_not_averaged",
        "You add up the gradients of {size} micro-batches without dividing by {size}. "
        "Divide each loss by the number of micro-batches in its group.",
        shown_by=lambda group: group.size > 1 and group.comparison.is_multiple(group.size),
        measured=FACTOR,
    ),
    Misconception(
        "short_group_divided_by_k",
        "You divide every loss by k = {k}, but the last group has only {size} of {k} micro-batches. "
        "Look at how you compute the size of a group.",
        shown_by=lambda group: group.size < group.k and group.comparison.is_multiple(group.size / group.k),
        measured=FACTOR,
    ),
    Misconception(
        "short_group_corrected_the_wrong_way",
        "You correct the short last group by {size} / {k}. After a division by k, it needs a factor of {k} / {size}.",
        shown_by=lambda group: group.size < group.k and group.comparison.is_multiple((group.size / group.k) ** 2),
        measured=FACTOR,
    ),
    Misconception(
        "gradient_divided_twice",
        "You divide by the number of micro-batches twice. Look for a second division, in a mean or in a library.",
        shown_by=lambda group: group.size > 1 and group.comparison.is_multiple(1 / group.size),
        measured=FACTOR,
    ),
    Misconception(
        "gradient_clipped",
        "You clip the gradient, which is not asked for. Look for a clip_grad_norm_ or a max_grad_norm.",
        shown_by=lambda group: (
            group.is_factor and (abs(group.norm - 1) < 1e-3 or (is_at_limit(group.norm) and not group.is_divided))
        ),
        measured=FACTOR + ", of norm {norm:.3f}",
    ),
    Misconception(
        "divided_by_another_number",
        "You divide by {divisor:.0f}, but the size of the group is {size}. "
        "Look at which of your numbers is {divisor:.0f}.",
        shown_by=lambda group: group.is_factor and group.is_divided,
        measured=FACTOR + ", as after a division by {divisor:.0f}",
    ),
    Misconception(
        "gradient_scaled",
        "You scale the gradient by {comparison.factor:.4g}. Look for a product or a division that leaves that factor.",
        shown_by=lambda group: group.is_factor,
        measured=FACTOR,
    ),
    Misconception(
        "cleared_within_group",
        "You clear the gradients within a group, so only its last micro-batch counts. Call zero_grad() after updates.",
        shown_by=lambda group: group.of_last.residual <= RELATIVE_TOLERANCE,
        measured="{of_last.factor:.4g} times the gradient of the last micro-batch alone",
    ),
    Misconception(
        "gradient_not_cleared",
        "You keep the gradient of the last update and add to it. Call zero_grad() after each update.",
        shown_by=lambda group: group.is_kept,
        measured="that gradient plus the one of the last update",
    ),
    Misconception(
        "micro_batches_weighed_unequally",
        "You give the micro-batches of one group different weights. Divide each of their losses by the same number.",
        shown_by=lambda group: group.weights is not None,
        measured="its micro-batches with the weights {named_weights}",
    ),
    Misconception(
        "gradient_rounded",
        "Your gradient agrees to two or three digits only, as one of another number format does. Look at autocast, "
        "mixed_precision and casts.",
        shown_by=lambda group: 0 < group.comparison.relative_error < 0.02,
        measured="a gradient that differs from it by {comparison.relative_error:.2%}",
    ),
    Misconception(
        "other_gradient",
        "Your update has the gradient of other data or another loss. "
        "Look at which micro-batches enter which update, and in which order.",
        shown_by=lambda group: not group.is_right,
        measured="a gradient that differs from it by {comparison.relative_error:.0%}",
    ),
)


def is_at_limit(norm: float) -> bool:
    """Return whether a norm is one to which gradients are clipped."""
    return any(abs(norm / limit - 1) < 1e-3 for limit in CLIP_LIMITS)


def mixture(seen: Tensor, parts: Sequence[Tensor]) -> list[float] | None:
    """Return the weights with which `parts` add up to `seen`; None if no weights do."""
    columns = torch.stack(list(parts), dim=1).double()  # [elements, parts]
    weights = torch.linalg.lstsq(columns, seen.double().unsqueeze(1)).solution  # [parts, 1]
    if not compare(seen, (columns @ weights).squeeze(1)).is_equal:
        return None
    return [float(weight) for weight in weights.flatten()]
