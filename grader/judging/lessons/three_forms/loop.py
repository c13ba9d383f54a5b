"""Judges loops over batches: the raw one, and the published one that was repaired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from itertools import count as count_from
from operator import mul, truediv
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.forms import count
from grader.judging.lessons.three_forms.loop_events import (
    explain_movement,
    judge_events,
    judge_weights,
    rows_of_forwards,
)
from grader.judging.lessons.three_forms.loop_gradients import Run, explain_gradient, make_run
from grader.judging.misconceptions import Misconception, Table
from grader.judging.updates import judge_updates
from grader.judging.vectors import tensors_of
from grader.lessons.three_forms.loop import raw_run_cases, repaired_run_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Facts = Mapping[str, Any]
Tensors = Mapping[str, Tensor]

GRADIENT_EXPECTED = "at every update, the gradient of the mean loss of its rows"

# Diagnoses of a loop in which each batch makes an update.
LOOK_AT = {
    "no_update": "You never update the weights. Call optimizer.step() for each batch.",
    "one_update_only": "You update once in the epoch. Each batch makes an update.",
    "graphs_kept": "You call backward() after the loop, so all graphs are held at once. Call it after each forward.",
    "gradient_not_cleared": "You keep the gradient of the last update, and backward() adds to it. Clear it each time.",
    "gradient_scaled": "You scale the loss or the gradient. Look for a product or a division.",
    "divided_by_another_number": "You divide the loss or the gradient. Each batch has the whole mean loss of its rows.",
    "gradient_clipped": "You clip the gradient to norm 1, which is not asked for.",
    "other_gradient": "You call backward() on another loss. Look at the rows, columns and targets that it is made of.",
    "cleared_before_update": "You clear the gradient between backward() and optimizer.step(), which then has none.",
    "another_optimizer": "You move the weights with another optimizer than plain SGD. Use torch.optim.SGD as it is.",
    "other_learning_rate": "You step with another learning rate. Give the optimizer `learning_rate`.",
}


def judge_raw_updates(observation: Observation, seed: int) -> Verdict:
    """Judge the updates and the returned losses of every setting; report the first thing that is wrong."""
    runs = [make_run(case) for case in raw_run_cases(seed)]
    for index, run in enumerate(runs):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = judge_run(facts, tensors, run) or judge_losses(facts["losses"], tensors, run)
        if verdict:
            return verdict
    updates = sum(run.updates for run in runs)
    measured = f"{updates} updates in {len(runs)} runs, each with the gradient of its rows, and their {updates} losses"
    return Verdict(PASSED, GRADIENT_EXPECTED, measured)


def judge_repaired_loop(observation: Observation, seed: int) -> Verdict:
    """Judge the updates of every setting; a loop that is still as it was published is reported first."""
    runs = [make_run(case) for case in repaired_run_cases(seed)]
    for index, run in enumerate(runs):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = _judge_published(facts, tensors, run) or judge_run(facts, tensors, run)
        if verdict:
            return verdict
    updates = sum(run.updates for run in runs)
    measured = f"{updates} updates in {len(runs)} runs, in train mode, each with the gradient of its rows"
    return Verdict(PASSED, GRADIENT_EXPECTED, measured)


def _judge_published(facts: Facts, tensors: Tensors, run: Run) -> Verdict | None:
    if any(facts["is_training"]) or "gradient.0" not in tensors:
        return None
    published = run.without(tensors["weights.0"], 0, "attention_mask", "token_type_ids")
    if not compare(tensors["gradient.0"], published).is_equal:
        return None
    look_at = (
        "You left the published loop as it is. Compare the columns of a batch with those that the model gets, "
        "and look at the mode that the model is in."
    )
    return Verdict("published_loop", GRADIENT_EXPECTED, "at every update, what the published loop does", look_at)


def judge_run(facts: Facts, tensors: Tensors, run: Run) -> Verdict | None:
    """Find what is wrong with one run: its forwards, its order, its gradients, its movement."""
    return (
        judge_events(facts, run.case)
        or judge_weights(facts["events"], tensors, run.case)
        or _judge_values(facts, tensors, run)
    )


def _judge_values(facts: Facts, tensors: Tensors, run: Run) -> Verdict | None:
    verdict = judge_updates(facts, tensors, run.reference)
    if verdict is None:
        return None
    explained = None
    if verdict.code in {"other_gradient", "gradient_scaled", "divided_by_another_number"}:
        wrong = next(update for update in range(run.updates) if not _is_right(tensors, run, update))
        weights, gradient = tensors[f"weights.{wrong}"], tensors[f"gradient.{wrong}"]
        explained = explain_gradient(run, wrong, weights, gradient, verdict.expected)
    if verdict.code == "another_optimizer":
        explained = explain_movement(tensors, run.updates, run.case.learning_rate, verdict.expected)
    return _in_words_of_batches(explained or verdict)


def _is_right(tensors: Tensors, run: Run, update: int) -> bool:
    return compare(tensors[f"gradient.{update}"], run.gradient(tensors[f"weights.{update}"], update)).is_equal


def _in_words_of_batches(verdict: Verdict) -> Verdict:
    """Write batch for micro-batch, a word that this lesson does not know: one batch makes one update."""
    return replace(
        verdict,
        expected=verdict.expected.replace("micro-batch", "batch").removesuffix(", for k = 1"),
        measured=verdict.measured.replace("micro-batch", "batch"),
        look_at=LOOK_AT.get(verdict.code, verdict.look_at.replace("micro-batch", "batch")),
    )


@dataclass(frozen=True)
class Losses:
    """The losses that were returned, one for each update.

    Attributes:
        seen: The losses.
        right: The mean loss of each update's rows, right before the update.
        rows: The rows of each update.
    """

    seen: Sequence[float]
    right: Sequence[float]
    rows: Sequence[int]

    @property
    def expected(self) -> str:
        """The right losses, in words."""
        return f"one loss for each of {count(len(self.right), 'update')}: {_list(self.right)}"

    @property
    def measured(self) -> str:
        """The losses, in words."""
        return f"a list of {count(len(self.seen), 'number')}: {_list(self.seen)}" if self.seen else "an empty list"

    @property
    def is_right(self) -> bool:
        """Whether every loss is right."""
        return self.are(self.right)

    @property
    def are_rounded(self) -> bool:
        """Whether all of them have few digits and are near the right ones."""
        pairs = zip(self.seen, self.right, strict=True)
        return all(abs(loss - wanted) <= 0.5 and abs(loss - round(loss, 3)) <= 1e-9 for loss, wanted in pairs)

    def are(self, wanted: Sequence[float]) -> bool:
        """Return whether the losses are these numbers."""
        return len(self.seen) == len(wanted) and all(
            abs(loss - number) <= RELATIVE_TOLERANCE * max(abs(number), 1e-2)
            for loss, number in zip(self.seen, wanted, strict=True)
        )


LOSSES = Table[Losses](
    Misconception(
        "no_loss_returned",
        "You return an empty list. Append the loss of each update to it.",
        shown_by=lambda losses: not losses.seen,
    ),
    Misconception(
        "one_loss_returned",
        "You return one loss. Append the loss within the loop, once for each update.",
        shown_by=lambda losses: len(losses.seen) == 1 != len(losses.right),
    ),
    Misconception(
        "other_number_of_losses",
        "You return more or fewer losses than there are updates. Append one in each pass of the loop.",
        shown_by=lambda losses: len(losses.seen) != len(losses.right),
    ),
    Misconception(
        "losses_divided_by_rows",
        "You divide each loss by its rows, or multiply it. The model's loss is a mean over the rows already.",
        shown_by=lambda losses: (
            losses.are([*map(truediv, losses.right, losses.rows)]) or losses.are([*map(mul, losses.right, losses.rows)])
        ),
    ),
    Misconception(
        "running_mean_of_losses",
        "You return running means or sums. Return the loss of each update alone.",
        shown_by=lambda losses: (
            losses.are([*accumulate(losses.right)])
            or losses.are([*map(truediv, accumulate(losses.right), count_from(1))])
        ),
    ),
    Misconception(
        "losses_rounded",
        "You round the losses. Return the numbers themselves.",
        shown_by=lambda losses: losses.are_rounded,
    ),
    Misconception(
        "other_losses",
        "You return other losses than those of the forwards. Keep the loss that backward() is called on.",
        shown_by=lambda losses: not losses.is_right,
    ),
)


def judge_losses(losses: Sequence[float], tensors: Tensors, run: Run) -> Verdict | None:
    """Compare the returned losses with the mean loss of each update's rows, right before the update."""
    evidence = Losses(losses, _losses_of(run, tensors), rows_of_forwards(run.case))
    return None if evidence.is_right else LOSSES.judge(evidence, evidence.expected, evidence.measured)


def _losses_of(run: Run, tensors: Tensors) -> list[float]:
    losses = []
    for update in range(run.updates):
        with torch.no_grad():
            nn.utils.vector_to_parameters(tensors[f"weights.{update}"], run.model.parameters())
            losses.append(float(run.loss(update)))
    return losses


def _list(losses: Sequence[float]) -> str:
    shown = ", ".join(f"{loss:.4f}" for loss in losses[:4])
    return f"{shown}, ..." if len(losses) > 4 else shown
