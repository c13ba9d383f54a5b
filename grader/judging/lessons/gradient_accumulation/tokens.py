"""Judges gradients and losses accumulated over unequal numbers of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, Comparison, compare
from grader.judging.group_gradient import is_at_limit, mixture
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.gradient_accumulation.tokens import TokenCase, token_cases
from grader.observation import Observation
from grader.testbed.regressions import MicroBatch
from grader.verdict import PASSED, Verdict

GRADIENT, LOSS = "gradient", "loss"


def accumulate(model: nn.Module, micro_batches: list[MicroBatch]) -> float:
    """Leave the gradient of the mean loss over all target tokens in the model, and return that loss."""
    counts = [int((targets != -100).sum()) for _, targets in micro_batches]
    divisor = sum(counts)
    total = 0.0
    for tokens, targets in micro_batches:
        logits = model(tokens)  # [rows, time, vocabulary]
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / divisor
        torch.autograd.backward(loss)
        total += loss.item()
    return total


DIVISOR = "divisor = sum(counts)"
DIVIDED = " / divisor"
ADDED = "total += loss.item()"
BACKWARD = "torch.autograd.backward(loss)"
SUMMED = 'F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / divisor'
COUNT = "max(int((targets != -100).sum()), 1)"
ROWS = "sum(len(rows) for rows, _ in micro_batches)"


def judge_token_gradients(observation: Observation, seed: int) -> Verdict:
    """Judge that nothing updates the weights, then the gradients, then the returned losses."""
    settings, values = observation.facts["settings"], []
    for index, facts in enumerate(settings):
        if "update" in facts["events"]:
            look_at = (
                "You update the weights with an optimizer of your own. Leave the gradients in the model, and no more."
            )
            return Verdict("weights_updated", "gradients, and no update", "a step of an optimizer", look_at)
        values.append({GRADIENT: observation.tensors[f"{index}.gradient"], LOSS: facts["loss"]})
    answer = TABLE.answer(seed, values)
    gradient, loss = answer.part(GRADIENT), answer.part(LOSS)
    if not gradient.is_right:
        return _explain_gradient(gradient)
    if not loss.is_right:
        return TABLE.explain(
            loss,
            expected=f"a returned mean loss of {loss.truth:.4f}",
            measured=f"{loss.value:.4f}",
            otherwise="Your gradients are right, but the returned loss is not the mean over all target tokens.",
        )
    errors = [
        compare(value[GRADIENT], truth[GRADIENT]).relative_error
        for value, truth in zip(values, TABLE.truths(seed), strict=True)
    ]
    measured = f"the gradient of the mean over all target tokens, with a relative error of {max(errors):.0e}"
    return Verdict(PASSED, f"a relative error of at most {RELATIVE_TOLERANCE:.0e}", measured)


def _explain_gradient(gradient: Answer) -> Verdict:
    tokens = gradient.case.target_tokens
    weighed = Weights(gradient.value, gradient.truth, gradient.case)
    counts = ", ".join(map(str, tokens))
    expected = f"the gradient of the mean loss of all {sum(tokens)} target tokens ({counts})"
    otherwise = "Your gradient is no sum of the micro-batches' gradients. Look at the loss that you compute."
    return TABLE.judge(gradient, expected, weighed.measured) or WEIGHTS.explain(
        weighed, expected=expected, measured=weighed.measured, otherwise=otherwise
    )


def _run(accumulate: Callable[..., float], case: TokenCase) -> dict[str, Any]:
    model, micro_batches = case.make_model(), case.make_micro_batches()
    with torch.enable_grad():
        loss = accumulate(model, micro_batches)
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
    return {GRADIENT: torch.cat([gradient.flatten() for gradient in gradients]), LOSS: loss}


def _is_near(answer: Any, value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_near(answer[key], value[key]) for key in value)
    if isinstance(value, Tensor):
        return bool(value.any()) and bool(torch.isfinite(answer).all()) and compare(answer, value).is_equal
    return math.isclose(answer, value, rel_tol=RELATIVE_TOLERANCE)


@dataclass(frozen=True, eq=False)
class Weights:
    """A wrong gradient, and how much each micro-batch adds to it.

    Attributes:
        seen: The gradient that the model was left with, in one vector.
        wanted: The gradient of the mean loss of all target tokens.
        case: The setting.
    """

    seen: Tensor
    wanted: Tensor
    case: TokenCase

    @cached_property
    def comparison(self) -> Comparison:
        """How the gradient relates to the right one."""
        return compare(self.seen, self.wanted)

    @property
    def is_finite(self) -> bool:
        """Whether the gradient has neither NaN nor infinity."""
        return bool(torch.isfinite(self.seen).all())

    @property
    def is_factor(self) -> bool:
        """Whether the gradient is a multiple of the right one."""
        return self.comparison.residual <= RELATIVE_TOLERANCE

    @property
    def divisor(self) -> float:
        """What the sum over all target tokens was divided by."""
        return sum(self.case.target_tokens) / self.comparison.factor

    @property
    def measured(self) -> str:
        """How the gradient differs from the right one."""
        if not self.is_finite:
            return "NaN"
        if not bool(self.seen.any()):
            return "no gradient in the model"
        if self.is_factor:
            return f"exactly {self.comparison.factor:.4g} times that gradient"
        return f"a gradient that differs from it by {self.comparison.relative_error:.2%}"

    @cached_property
    def weights(self) -> list[float] | None:
        """The weight of a token of each micro-batch; None if the gradient is no such sum."""
        model, micro_batches = self.case.make_model(), self.case.make_micro_batches()
        parts = []
        for tokens, targets in micro_batches:
            with torch.enable_grad():
                loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
                gradients = torch.autograd.grad(loss, list(model.parameters()))
            parts.append(torch.cat([gradient.flatten() for gradient in gradients]))
        return mixture(self.seen, parts)

    @property
    def named_weights(self) -> str:
        """The weights, in words."""
        return ", ".join(f"{weight:.3g}" for weight in self.weights or ())


WEIGHTS = Table[Weights](
    Misconception(
        "mean_of_no_tokens",
        "You take the mean of a micro-batch without target tokens, which is NaN. Sum its losses instead.",
        shown_by=lambda gradient: not gradient.is_finite,
    ),
    Misconception(
        "no_gradient",
        "You leave no gradient in the model. Call backward() for each micro-batch, and do not clear the gradients "
        "after it.",
        shown_by=lambda gradient: not bool(gradient.seen.any()),
    ),
    Misconception(
        "gradient_clipped",
        "You clip the gradient, which is not asked for. Look for a clip_grad_norm_.",
        shown_by=lambda gradient: gradient.is_factor and is_at_limit(float(gradient.seen.norm())),
    ),
    Misconception(
        "gradient_doubled",
        "You leave twice the gradient. Look for a second backward of each loss, or a factor.",
        shown_by=lambda gradient: gradient.comparison.is_multiple(2),
    ),
    Misconception(
        "divided_by_another_count",
        "You divide by {divisor:.0f}. Look at which tokens you count.",
        shown_by=lambda gradient: (
            gradient.is_factor and gradient.divisor > 0.5 and abs(gradient.divisor - round(gradient.divisor)) < 1e-3
        ),
        measured="{measured}, as after a division by {divisor:.0f}",
    ),
    Misconception(
        "gradient_scaled",
        "Your divisions and products leave a factor of {comparison.factor:.4g}. Look for the one that is too many.",
        shown_by=lambda gradient: gradient.is_factor,
    ),
    Misconception(
        "tokens_weighed_unequally",
        "You give the tokens of different micro-batches different weights. Look at what you divide or multiply the "
        "loss of each micro-batch by.",
        shown_by=lambda gradient: gradient.weights is not None,
        measured="{measured}; a token of each micro-batch weighs {named_weights}",
    ),
    Misconception(
        "gradient_rounded",
        "Your gradient is right to two or three digits only, as in bfloat16. Look for autocast or a cast.",
        shown_by=lambda gradient: gradient.comparison.relative_error < 0.02,
    ),
)

TABLE = ReferenceTable(
    accumulate,
    Misconception(
        "mean_of_means",
        "You average the means of the micro-batches, so a token of a short micro-batch weighs more. "
        "Divide the summed loss by the count of all target tokens.",
        {DIVIDED: f" / {COUNT} / len(counts)"},
    ),
    Misconception(
        "sum_of_means",
        "You add the means of the micro-batches. Add summed losses, and divide by the count of all target tokens.",
        {DIVIDED: f" / {COUNT}"},
    ),
    Misconception(
        "sum_not_divided",
        "You never divide the summed loss. Divide it by the count of all target tokens.",
        {DIVISOR: "divisor = 1"},
    ),
    Misconception(
        "padding_counted",
        "You count padding as target tokens. Leave out the positions whose target is -100.",
        {DIVISOR: "divisor = sum(targets.numel() for _, targets in micro_batches)"},
    ),
    Misconception(
        "divided_by_micro_batches",
        "You divide a sum over tokens by the number of micro-batches. Divide by the count of all target tokens.",
        {DIVISOR: "divisor = len(counts)"},
    ),
    Misconception(
        "divided_by_rows",
        "You divide a sum over tokens by the number of rows. Divide by the count of all target tokens.",
        {DIVISOR: f"divisor = {ROWS}"},
    ),
    Misconception(
        "first_count_for_all",
        "You divide by the target tokens of the first micro-batch. Count those of all micro-batches first.",
        {DIVISOR: "divisor = max(counts[0], 1)"},
    ),
    Misconception(
        "last_count_for_all",
        "You divide by the target tokens of the last micro-batch, which overwrites the count. Add up all counts.",
        {DIVISOR: "divisor = max(counts[-1], 1)"},
    ),
    Misconception(
        "count_so_far",
        "You divide by the tokens counted so far. Complete the count before the first backward pass.",
        {DIVISOR: "divisor = 0", DIVIDED: " / max(divisor := divisor + int((targets != -100).sum()), 1)"},
    ),
    Misconception(
        "divided_twice",
        "You divide by the tokens and again by the number of micro-batches. Divide once, by all target tokens.",
        {DIVISOR: "divisor = sum(counts) * len(counts)"},
    ),
    Misconception(
        "multiplied_by_micro_batches",
        "You multiply by the number of micro-batches. No division by it is there to undo.",
        {DIVISOR: "divisor = sum(counts) / len(counts)"},
    ),
    Misconception(
        "cleared_between",
        "You clear the gradients between micro-batches, so only the last micro-batch is left. "
        "Call zero_grad() before the first one, or not at all.",
        {BACKWARD: f"model.zero_grad(); {BACKWARD}"},
        variants=[{DIVISOR: "divisor = max(counts[-1], 1)", BACKWARD: f"model.zero_grad(); {BACKWARD}"}],
    ),
    Misconception(
        "targets_shifted_again",
        "You shift the targets, but they are shifted already: the target of a position is the token that follows it.",
        {
            DIVISOR: "divisor = sum(int((targets[:, 1:] != -100).sum()) for _, targets in micro_batches)",
            "model(tokens)": "model(tokens)[:, :-1]",
            "targets.flatten()": "targets[:, 1:].flatten()",
        },
        variants=[{"model(tokens)": "model(tokens)[:, :-1]", "targets.flatten()": "targets[:, 1:].flatten()"}],
    ),
    Misconception(
        "padding_learned",
        "You train on padding. Positions with target -100 have no loss: leave `ignore_index` at -100.",
        {
            DIVISOR: "divisor = sum(targets.numel() for _, targets in micro_batches)",
            "targets.flatten()": "targets.clamp(min=0).flatten()",
        },
        variants=[{"targets.flatten()": "targets.clamp(min=0).flatten()"}],
    ),
    Misconception(
        "mean_of_row_means",
        "You average each row first, so a token of a short row weighs more. Sum over all tokens of all rows.",
        {DIVISOR: f"divisor = {ROWS}", SUMMED: "_summed_row_means(logits, targets) / divisor"},
        variants=[
            {
                DIVISOR: "divisor = sum(int((targets != -100).any(1).sum()) for _, targets in micro_batches)",
                SUMMED: "_summed_row_means(logits, targets) / divisor",
            }
        ],
    ),
    Misconception(
        "returned_loss_not_finite",
        "You return NaN: a micro-batch without target tokens has the mean of nothing, and NaN times 0 is NaN. "
        "Add up summed losses.",
        shown_by=lambda answer: answer.key == LOSS and not math.isfinite(answer.value),
    ),
    Misconception(
        "summed_loss_returned",
        "You return the summed loss. Your gradients are right: divide the returned loss by the target tokens, too.",
        {ADDED: "total += loss.item() * divisor"},
    ),
    Misconception(
        "mean_of_mean_losses_returned",
        "You return the mean of the micro-batches' means, in which tokens weigh unequally. "
        "Return the mean over all target tokens.",
        {ADDED: f"total += loss.item() * divisor / {COUNT} / len(counts)"},
    ),
    Misconception(
        "loss_divided_by_micro_batches",
        "You divide the returned loss by the number of micro-batches. Divide the sum by the target tokens only.",
        {ADDED: "total += loss.item() / len(counts)"},
        variants=[{ADDED: "total += loss.item() * divisor / len(counts)"}],
    ),
    Misconception(
        "last_loss_returned",
        "You return the loss of the last micro-batch only. Add up the losses of all micro-batches.",
        {ADDED: "total = loss.item()"},
        variants=[{ADDED: "total = loss.item() * divisor"}, {ADDED: f"total = loss.item() * divisor / {COUNT}"}],
    ),
    run=_run,
    cases=token_cases,
    is_near=_is_near,
)


def _summed_row_means(logits: Tensor, targets: Tensor) -> Tensor:
    losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")  # [rows, time]
    return (losses.sum(dim=1) / (targets != -100).sum(dim=1).clamp(min=1)).sum()
