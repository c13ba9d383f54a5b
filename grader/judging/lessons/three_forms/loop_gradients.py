"""Explains a wrong gradient or movement of one update in a loop over batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, Comparison, compare
from grader.judging.group_gradient import mixture
from grader.judging.kept import keep_cases
from grader.judging.misconceptions import Misconception, Table
from grader.judging.updates import Reference
from grader.judging.vectors import gradient_at
from grader.lessons.three_forms.loop import RunCase
from grader.verdict import Verdict

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification

Batch = Mapping[str, Tensor]

ROUNDING_OF_16_BITS = 0.05  # above any error that a 16-bit format leaves in a gradient of these runs


@dataclass(frozen=True)
class Run:
    """One case with its model and data, for the gradients that a loop may have computed."""

    case: RunCase
    model: BertForSequenceClassification
    dataset: Dataset
    batches: dict[int, Batch] = field(default_factory=dict)

    @property
    def updates(self) -> int:
        """Updates of the whole run."""
        return self.case.updates_per_epoch * self.case.epochs

    @property
    def reference(self) -> Reference:
        """What a right loop does: one update for each batch."""
        return Reference(self.updates, 1, self.case.rows, self.case.learning_rate, self.gradient)

    def batch(self, update: int) -> Batch:
        """Return the columns of the rows of one update."""
        if update not in self.batches:
            self.batches[update] = self.dataset[list(self.case.rows_of(update))]
        return self.batches[update]

    def gradient(self, weights: Tensor, update: int) -> Tensor:
        """Return the gradient of the mean loss of one update's rows, at given weights."""
        return gradient_at(self.model, self.loss, weights, update)

    def loss(self, update: int) -> Tensor:
        """Return the mean loss of one update's rows, at the weights that the model has."""
        mean: Tensor = self.model(**self.batch(update)).loss
        return mean

    def without(self, weights: Tensor, update: int, *columns: str) -> Tensor:
        """Return the gradient of a forward without some of the columns."""

        def loss(number: int) -> Tensor:
            kept = {name: values for name, values in self.batch(number).items() if name not in columns}
            mean: Tensor = self.model(**kept).loss
            return mean

        return gradient_at(self.model, loss, weights, update)


@keep_cases
def make_run(case: RunCase) -> Run:
    """Build model and data of a case; every gradient sets the model's weights again."""
    return Run(case, case.make_model(), case.make_dataset())


@dataclass(frozen=True, eq=False)
class WrongGradient:
    """A wrong gradient of one update, with what it may be made of.

    Attributes:
        run: The run.
        update: Which update it is, counted from 0.
        weights: The weights before the update.
        seen: The gradient right before it.
    """

    run: Run
    update: int
    weights: Tensor
    seen: Tensor

    @cached_property
    def wanted(self) -> Tensor:
        """The right gradient."""
        return self.run.gradient(self.weights, self.update)

    @cached_property
    def comparison(self) -> Comparison:
        """How the gradient relates to the right one."""
        return compare(self.seen, self.wanted)

    @property
    def is_factor(self) -> bool:
        """Whether it is a multiple of the right one."""
        return self.comparison.residual <= RELATIVE_TOLERANCE

    @property
    def rows(self) -> int:
        """Rows of the update."""
        return len(self.run.case.rows_of(self.update))

    @property
    def zeros(self) -> int:
        """How many weights have no gradient."""
        return int((self.seen == 0).sum())

    @cached_property
    def shares(self) -> list[float]:
        """The share of each row of the dataset that the gradient is a mixture of; empty where it is none."""
        parts = [
            gradient_at(self.run.model, _row_loss(self.run), self.weights, row) for row in range(self.run.case.pairs)
        ]
        return mixture(self.seen, parts) or []

    @property
    def used(self) -> list[int]:
        """The rows that have a share."""
        return [row for row, share in enumerate(self.shares) if abs(share) > 0.01 * max(self.shares)]

    @property
    def is_of_other_rows(self) -> bool:
        """Whether it is the mean over as many other rows."""
        is_even = all(self.shares[row] > 0.99 * max(self.shares) for row in self.used)
        return bool(self.shares) and is_even and len(self.used) == self.rows

    def is_multiple(self, factor: float) -> bool:
        """Return whether it is the right gradient times `factor`."""
        return self.comparison.is_multiple(factor)

    def equals(self, gradient: Tensor) -> bool:
        """Return whether it equals another gradient."""
        return compare(self.seen, gradient).is_equal

    def is_without(self, *columns: str) -> bool:
        """Return whether it is the gradient of a forward without some of the columns."""
        return self.equals(self.run.without(self.weights, self.update, *columns))

    def is_multiple_of(self, loss: Callable[[int], Tensor]) -> bool:
        """Return whether it is a multiple of the gradient of another loss."""
        return compare(self.seen, gradient_at(self.run.model, loss, self.weights, self.update)).residual <= (
            RELATIVE_TOLERANCE
        )


FACTOR = "exactly {comparison.factor:.4g} times that gradient"

FACTORS = Table[WrongGradient](
    Misconception(
        "backward_twice",
        "You call backward() twice for one update, so its gradient is doubled.",
        shown_by=lambda wrong: wrong.is_multiple(2),
        measured=FACTOR,
    ),
    Misconception(
        "loss_summed_over_rows",
        "You use the sum of the losses of {rows} rows. The model's loss is their mean: use it as it is.",
        shown_by=lambda wrong: wrong.is_multiple(wrong.rows),
        measured=FACTOR,
    ),
    Misconception(
        "loss_divided_by_rows",
        "You divide the loss by the number of rows. The model's loss is a mean over the rows already.",
        shown_by=lambda wrong: wrong.is_multiple(1 / wrong.rows),
        measured=FACTOR,
    ),
    Misconception(
        "loss_divided_by_batches",
        "You divide the loss by the number of batches. Each batch makes an update of its own: use its whole loss.",
        shown_by=lambda wrong: wrong.is_multiple(1 / wrong.run.updates),
        measured=FACTOR,
    ),
)

GRADIENT = Table[WrongGradient](
    Misconception(
        "padding_attended",
        "You leave out attention_mask, so the model attends to padding. Pass all columns of the batch.",
        shown_by=lambda wrong: wrong.is_without("attention_mask"),
        measured="the gradient of a model that attends to padding",
    ),
    Misconception(
        "token_types_left_out",
        "You leave out token_type_ids, so the model reads both sentences as one. Pass all columns of the batch.",
        shown_by=lambda wrong: wrong.is_without("token_type_ids"),
        measured="the gradient of a model that reads both sentences as one",
    ),
    Misconception(
        "only_tokens_handed_over",
        "You pass only tokens and labels to the model. It needs attention_mask and token_type_ids, too.",
        shown_by=lambda wrong: wrong.is_without("attention_mask", "token_type_ids"),
        measured="the gradient of a model that attends to padding and reads both sentences as one",
    ),
    Misconception(
        "columns_mixed_up",
        "You pass attention_mask and token_type_ids in each other's place. Pass columns by name.",
        shown_by=lambda wrong: wrong.equals(
            gradient_at(wrong.run.model, _swapped_loss(wrong.run), wrong.weights, wrong.update)
        ),
        measured="the gradient of a model that takes one column for another",
    ),
    Misconception(
        "labels_smoothed",
        "You train on smoothed labels, which is another loss. Leave label smoothing at 0.",
        shown_by=lambda wrong: any(
            wrong.is_multiple_of(_smoothed_loss(wrong.run, share)) for share in (0.1, 0.05, 0.2)
        ),
        measured="the gradient of a loss with label smoothing",
    ),
    Misconception(
        "logits_for_loss",
        "You call backward() on the logits. Call it on the loss, which compares them with the labels.",
        shown_by=lambda wrong: wrong.is_multiple_of(_logits(wrong.run)),
        measured="the gradient of the sum or the mean of the logits",
    ),
    Misconception(
        "first_batch_again",
        "You train on the first batch again at every update. Look at where the loader starts again.",
        shown_by=lambda wrong: wrong.update > 0 and wrong.equals(wrong.run.gradient(wrong.weights, 0)),
        measured="the gradient of batch 1",
    ),
    Misconception(
        "rows_in_another_order",
        "You read the rows in another order. Leave `shuffle` of the loader at False.",
        shown_by=lambda wrong: wrong.is_of_other_rows,
        measured="the gradient of rows {used}",
    ),
    Misconception(
        "rows_weighed_unequally",
        "You give the rows of one update different weights. Look at which rows enter the loss, and how often.",
        shown_by=lambda wrong: bool(wrong.shares),
        measured="a mixture of rows {used}, with unequal weights",
    ),
    Misconception(
        "part_of_the_gradient_missing",
        "You leave some parameters without a gradient. Look for `requires_grad` or `no_grad`.",
        shown_by=lambda wrong: wrong.equals(wrong.wanted * (wrong.seen != 0)),
        measured="no gradient at all for {zeros:,} weights",
    ),
    Misconception(
        "gradient_rounded",
        "You compute the gradient with fewer digits than float32 has. Look for a 16-bit format in the forward.",
        shown_by=lambda wrong: wrong.comparison.relative_error <= ROUNDING_OF_16_BITS,
        measured="a gradient that is off by {comparison.relative_error:.2%}",
    ),
)


def explain_gradient(run: Run, update: int, weights: Tensor, seen: Tensor, expected: str) -> Verdict | None:
    """Return the verdict on a wrong gradient; None if nothing known yields it."""
    wrong = WrongGradient(run, update, weights, seen)
    return (FACTORS if wrong.is_factor else GRADIENT).judge(wrong, expected)


def _row_loss(run: Run) -> Callable[[int], Tensor]:
    def loss(row: int) -> Tensor:
        mean: Tensor = run.model(**run.dataset[[row]]).loss
        return mean

    return loss


def _smoothed_loss(run: Run, share: float) -> Callable[[int], Tensor]:
    def loss(update: int) -> Tensor:
        batch = dict(run.batch(update))
        return F.cross_entropy(run.model(**batch).logits, batch["labels"], label_smoothing=share)

    return loss


def _swapped_loss(run: Run) -> Callable[[int], Tensor]:
    def loss(update: int) -> Tensor:
        batch = dict(run.batch(update))
        batch["attention_mask"], batch["token_type_ids"] = batch["token_type_ids"], batch["attention_mask"]
        return F.cross_entropy(run.model(**batch).logits, batch["labels"])

    return loss


def _logits(run: Run) -> Callable[[int], Tensor]:
    def total(update: int) -> Tensor:
        logits: Tensor = run.model(**run.batch(update)).logits
        return logits.sum()

    return total
