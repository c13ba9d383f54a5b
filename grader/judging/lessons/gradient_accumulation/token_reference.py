"""What a right accumulation over tokens yields, and what other losses would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.vectors import gradient_at
from grader.lessons.gradient_accumulation.tokens import TokenCase
from grader.testbed.batches import IGNORED_TARGET
from grader.testbed.regressions import MicroBatch

Known = tuple[str, Tensor, str]  # code, gradient, look_at


@dataclass(frozen=True)
class TokenReference:
    """Summed loss and its gradient for each micro-batch, with the counts that one could divide by.

    Attributes:
        sums: The gradient of the summed loss of each micro-batch, in one vector.
        losses: The summed loss of each micro-batch.
        tokens: Target tokens of each micro-batch.
        rows: Rows of each micro-batch.
        time: Positions of a row.
    """

    sums: list[Tensor]
    losses: list[float]
    tokens: tuple[int, ...]
    rows: tuple[int, ...]
    time: int

    @property
    def total(self) -> Tensor:
        """The gradient of the summed loss of all target tokens."""
        return torch.stack(self.sums).sum(dim=0)

    @property
    def mean(self) -> Tensor:
        """The gradient of the mean loss of all target tokens."""
        return self.total / sum(self.tokens)

    @property
    def loss(self) -> float:
        """The mean loss of all target tokens."""
        return sum(self.losses) / sum(self.tokens)


@lru_cache(maxsize=8)
def make_reference(case: TokenCase) -> TokenReference:
    """Compute the reference of one setting."""
    model, micro_batches = case.make_model(), case.make_micro_batches()
    summed_loss = partial(_summed_loss, model)
    sums = _gradients(model, micro_batches, summed_loss)
    with torch.no_grad():
        losses = [summed_loss(tokens, targets).item() for tokens, targets in micro_batches]
    return TokenReference(sums, losses, case.target_tokens, tuple(len(rows) for rows in case.lengths), case.time)


def gradients_of_other_losses(case: TokenCase) -> Iterator[Known]:
    """Yield the gradients of losses that are not the mean over the target tokens."""
    model, micro_batches = case.make_model(), case.make_micro_batches()
    rows = [row for lengths in case.lengths for row in lengths]
    gradients = partial(_total_gradient, model, micro_batches)

    shifted = gradients(lambda tokens, targets: _summed_loss(model, tokens, targets.roll(-1, 1), last=-1))
    look_at = "targets are shifted already: the target of a position is the token that follows it"
    for count in (sum(max(length - 1, 0) for length in rows), sum(rows)):
        yield "targets_shifted_again", shifted / count, look_at

    padding = gradients(lambda tokens, targets: _summed_loss(model, tokens, targets.clamp(min=0)))
    for count in (len(rows) * case.time, sum(rows)):
        yield "padding_learned", padding / count, "padding: it is no target, so it has no loss"

    by_row = gradients(lambda tokens, targets: _summed_row_means(model, tokens, targets))
    look_at = "rows of unequal lengths: does a token weigh the same in a long row and in a short one?"
    for count in (len(rows), sum(length > 0 for length in rows)):
        yield "mean_of_row_means", by_row / count, look_at


def _summed_loss(model: nn.Module, tokens: Tensor, targets: Tensor, last: int | None = None) -> Tensor:
    """Sum the losses of all positions before `last` that have a target."""
    logits = model(tokens)[:, :last]  # [rows, time, vocabulary]
    return F.cross_entropy(logits.flatten(0, 1), targets[:, :last].flatten(), reduction="sum")


def _summed_row_means(model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    losses = F.cross_entropy(model(tokens).transpose(1, 2), targets, reduction="none")  # [rows, time]
    counts = (targets != IGNORED_TARGET).sum(dim=1)  # [rows]
    return (losses.sum(dim=1) / counts.clamp(min=1)).sum()


def _gradients(
    model: nn.Module, micro_batches: list[MicroBatch], loss: Callable[[Tensor, Tensor], Tensor]
) -> list[Tensor]:
    weights = nn.utils.parameters_to_vector(model.parameters()).detach()
    return [
        gradient_at(model, lambda number: loss(*micro_batches[number]), weights, number)
        for number in range(len(micro_batches))
    ]


def _total_gradient(
    model: nn.Module, micro_batches: list[MicroBatch], loss: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    return torch.stack(_gradients(model, micro_batches, loss)).sum(dim=0)
