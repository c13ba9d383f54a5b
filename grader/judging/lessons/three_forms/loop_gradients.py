"""Explains a wrong gradient or movement of one update in a loop over batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.group_gradient import mixture
from grader.judging.updates import Reference
from grader.judging.vectors import gradient_at
from grader.lessons.three_forms.loop import RunCase

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification

Batch = Mapping[str, Tensor]
Explanation = tuple[str, str, str]  # code, measured, look_at

ROUNDING_OF_16_BITS = 0.05  # a larger error than any that a 16-bit format leaves in a gradient of these runs


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
        """Return the gradient of a forward that is not handed some columns."""

        def loss(number: int) -> Tensor:
            kept = {name: values for name, values in self.batch(number).items() if name not in columns}
            mean: Tensor = self.model(**kept).loss
            return mean

        return gradient_at(self.model, loss, weights, update)


@lru_cache(maxsize=16)
def make_run(case: RunCase) -> Run:
    """Build model and data of a case; every gradient sets the model's weights anew."""
    return Run(case, case.make_model(), case.make_dataset())


def explain_gradient(run: Run, update: int, weights: Tensor, seen: Tensor) -> Explanation | None:
    """Return the code, what was measured and where to look, for a wrong gradient; None if nothing known yields it."""
    wanted = run.gradient(weights, update)
    comparison = compare(seen, wanted)
    if comparison.residual <= RELATIVE_TOLERANCE:
        return _explain_factor(run, update, comparison.factor)
    for code, gradient, measured, look_at in _other_gradients(run, update, weights):
        comparison = compare(seen, gradient)
        if comparison.is_equal or (code == "logits_for_loss" and comparison.residual <= RELATIVE_TOLERANCE):
            return code, measured, look_at
    if compare(seen, wanted.clamp(-float(seen.abs().max()), float(seen.abs().max()))).is_equal:
        measured = f"that gradient, with no element above {float(seen.abs().max()):.3g}"
        return "clipped_by_value", measured, "a clipping of values that is not asked for"
    parts = [gradient_at(run.model, _row_loss(run), weights, row) for row in range(run.case.pairs)]
    shares = mixture(seen, parts)
    if shares is not None:
        return _explain_rows(run, update, shares)
    if compare(seen, wanted * (seen != 0)).is_equal:
        measured = f"no gradient at all for {int((seen == 0).sum()):,} of {len(seen):,} weights"
        return "part_of_the_gradient_missing", measured, "which parameters require a gradient"
    if compare(seen, wanted).relative_error <= ROUNDING_OF_16_BITS:
        measured = f"a gradient that is off by {compare(seen, wanted).relative_error:.2%}"
        return "gradient_rounded", measured, "the number format that the forward computes in"
    return None


def _explain_factor(run: Run, update: int, factor: float) -> Explanation | None:
    rows = len(run.case.rows_of(update))
    measured = f"exactly {factor:.4g} times that gradient"
    for known, code, look_at in (
        (2, "backward_twice", "how often backward() adds to the gradient of one update"),
        (-1, "sign_turned", "which way the loss falls: SGD subtracts the gradient already"),
        (rows, "loss_summed_over_rows", f"the loss of a batch of {rows} rows: a sum, or a mean?"),
        (1 / rows, "loss_divided_by_rows", "the model's loss is a mean over the rows already: who divides again?"),
        (1 / run.updates, "loss_divided_by_batches", "every batch makes an update of its own: why divide its loss?"),
    ):
        if abs(factor - known) <= 1e-3 * abs(known):
            return code, measured, look_at
    return None


def _other_gradients(run: Run, update: int, weights: Tensor) -> Iterator[tuple[str, Tensor, str, str]]:
    """Yield what a gradient may be made of: code, gradient, measured, look_at."""
    mask, types = "attention_mask", "token_type_ids"
    measured = "the gradient of a model that attends to padding"
    yield "padding_attended", run.without(weights, update, mask), measured, "who tells the model which tokens are words"
    measured = "the gradient of a model that reads both sentences as one"
    look_at = "who tells the model where the second sentence begins"
    yield "token_types_left_out", run.without(weights, update, types), measured, look_at
    measured = "the gradient of a model that attends to padding and reads both sentences as one"
    look_at = "which columns of a batch the model is handed"
    yield "only_tokens_handed_over", run.without(weights, update, mask, types), measured, look_at
    measured = "the gradient of a model that takes one column for another"
    look_at = "the order of the model's parameters: a column passed by name cannot be mixed up"
    yield "columns_mixed_up", gradient_at(run.model, _swapped_loss(run), weights, update), measured, look_at
    measured = "the gradient of the sum or the mean of the logits"
    yield (
        "logits_for_loss",
        gradient_at(run.model, _logits(run), weights, update),
        measured,
        "what backward() starts at",
    )
    for other in range(run.case.updates_per_epoch):
        if other != update:
            measured = f"the gradient of batch {other + 1}"
            code = "first_batch_again" if other == 0 else "batches_in_another_order"
            look_at = "where the loader starts again" if other == 0 else "in which order the batches are drawn"
            yield code, run.gradient(weights, other), measured, look_at


def _explain_rows(run: Run, update: int, shares: list[float]) -> Explanation:
    largest = max(shares)
    used = [row for row, share in enumerate(shares) if abs(share) > 0.01 * largest]
    own = run.case.rows_of(update)
    if all(shares[row] > 0.99 * largest for row in used) and len(used) == len(own):
        numbers = ", ".join(str(row) for row in used[:8])
        measured = f"the gradient of rows {numbers}, and not {own.start} to {own.stop - 1}"
        return "rows_in_another_order", measured, "in which order the rows are drawn"
    measured = f"a mixture of {len(used)} rows, with unequal weights"
    return "rows_weighed_unequally", measured, "which rows enter this update, and with which weight each"


def _row_loss(run: Run) -> Callable[[int], Tensor]:
    def loss(row: int) -> Tensor:
        mean: Tensor = run.model(**run.dataset[[row]]).loss
        return mean

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
