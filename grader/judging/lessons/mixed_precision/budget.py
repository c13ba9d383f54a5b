"""Judges an update within a byte budget: the gradient of the whole batch, and the peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.budget import claimed_peak_bytes, judge_budget
from grader.judging.equivalence import RELATIVE_TOLERANCE
from grader.judging.group_gradient import GROUP_GRADIENT, GroupGradient
from grader.judging.kept import keep_cases
from grader.judging.lessons.mixed_precision.weights import judge_movement, judge_start
from grader.judging.misconceptions import Misconception, Table
from grader.judging.updates import most_forwards_waiting
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.mixed_precision.budget import (
    BUDGET_LEARNING_RATE,
    BudgetCase,
    gradient_budget_cases,
    peak_budget_case,
)
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

SHARE = 0.12


def judge_whole_batch_update(observation: Observation, seed: int) -> Verdict:
    """Judge the gradient and the update of both settings."""
    worst = 0.0
    for index, case in enumerate(gradient_budget_cases(seed)):
        update = Update(case, observation.facts["settings"][index], tensors_of(observation, index))
        verdict = _judge_update(update)
        if verdict:
            return verdict
        worst = max(worst, update.group.comparison.relative_error)
    measured = f"the gradient of the whole batch, with a relative error of {worst:.0e}"
    return Verdict(PASSED, "one update with the gradient of the whole batch", measured)


def _judge_update(update: Update) -> Verdict | None:
    verdict = EVENTS.judge(update) or judge_start(update.tensors, update.case.make_model())
    if verdict:
        return verdict
    if not update.group.is_right:
        expected = f"the gradient of the mean loss of all {update.case.rows} rows"
        return GRADIENT.judge(update, expected) or GROUP_GRADIENT.judge(update.group, expected)
    return judge_movement(update.tensors, 0, BUDGET_LEARNING_RATE, "the update")


def judge_update_peak(observation: Observation, seed: int) -> Verdict:
    """Judge the peak of a right update against the plain update's."""
    case, facts = peak_budget_case(seed), observation.facts
    (recorded,) = facts["settings"]
    measured_formats = {"weight_formats": facts["peak_weight_formats"]}
    verdict = EVENTS.judge(Update(case, {**recorded, **measured_formats}, {}))
    if verdict and verdict.code == "weights_converted":
        return verdict
    wrong = _judge_update(Update(case, recorded, tensors_of(observation, 0)))
    if wrong:
        look_at = "You make another update than the one that is asked for. The check above shows what is wrong with it."
        expected = f"the peak of a right update: {wrong.expected}"
        return Verdict("peak_of_another_update", expected, wrong.measured, look_at)
    (claim,) = facts["claims"]
    peak_bytes = claimed_peak_bytes(claim, _needed_bytes(case))
    baseline = _baseline(case, "cpu" if claim["device"] == "cpu" else "cuda")
    peak = Peak(case.rows, max(facts["block_rows"], default=0), facts["events"])
    cause = PEAK.explain(peak, expected="", measured="", otherwise="")
    return judge_budget(peak_bytes, baseline, SHARE, code=cause.code, look_at=cause.look_at)


@dataclass(frozen=True, eq=False)
class Update:
    """What was recorded of the update of one setting.

    Attributes:
        case: The setting.
        facts: The records of training and precision, with "weight_formats" and "given_steps".
        tensors: Gradient and weights, by name.
    """

    case: BudgetCase
    facts: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    @property
    def updates(self) -> int:
        """How many updates there are."""
        return int(self.facts["events"].count("update"))

    @property
    def formats(self) -> str:
        """The formats of the weights at the end, in words."""
        return ", ".join(self.facts["weight_formats"])

    @cached_property
    def group(self) -> GroupGradient:
        """Its gradient, with those of the rows that it should be made of."""
        rows = self.case.rows
        parts = [_gradient_of_row(self.case, row) for row in range(rows)]
        return GroupGradient(self.tensors["gradient.0"], parts, torch.zeros_like(parts[0]), rows)


@lru_cache(maxsize=64)
def _gradient_of_row(case: BudgetCase, row: int) -> Tensor:
    """Return the gradient of the mean loss of one row."""
    model, (tokens, targets) = case.make_model(), case.make_batch()
    weights = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    return gradient_at(model, lambda row: F.cross_entropy(model(tokens[[row]])[0], targets[row]), weights, row)


EVENTS = Table[Update](
    Misconception(
        "weights_converted",
        "You convert the weights. Leave them in float32: fewer bits are another task.",
        shown_by=lambda update: update.facts["weight_formats"] != ["float32"],
        expected="weights that stay float32",
        measured="weights in {formats}",
    ),
    Misconception(
        "no_update",
        "You never step. Call optimizer.step() after the last row.",
        shown_by=lambda update: not update.updates,
        expected="one update, with the gradient of the mean loss of all rows",
        measured="no update",
    ),
    Misconception(
        "several_updates",
        "You step {updates} times. Step once, after the last row.",
        shown_by=lambda update: update.updates > 1,
        expected="one update, with the gradient of the mean loss of all rows",
        measured="{updates} updates",
    ),
    Misconception(
        "another_optimizer",
        "You step with an optimizer of your own. Use the given one, which has its own learning rate and state.",
        shown_by=lambda update: update.facts["given_steps"] != 1,
        expected="one update by the given optimizer",
        measured="a step of another one",
    ),
)

GRADIENT = Table[Update](
    Misconception(
        "computed_in_16_bit",
        "You run the forward in 16 bit, which changes the gradient. Use tools that leave it as it is.",
        shown_by=lambda update: set(update.facts["autocast_formats"]) != {"float32"},
        measured="a gradient that differs from it by {group.comparison.relative_error:.1%}, from forwards in 16 bit",
    ),
    Misconception(
        "sum_not_divided",
        "You sum the losses of all tokens. Divide the sum by the number of tokens of the batch.",
        shown_by=lambda update: update.group.comparison.is_multiple(update.case.rows * update.case.time),
        measured="exactly {group.comparison.factor:.4g} times that gradient",
    ),
    Misconception(
        "rows_weighed_unequally",
        "You give rows of different parts different weights. Weigh the mean loss of a part by its number of rows.",
        shown_by=lambda update: (
            not update.group.is_factor
            and update.group.of_last.residual > RELATIVE_TOLERANCE
            and update.group.weights is not None
        ),
        measured="a gradient whose rows weigh {group.named_weights}",
    ),
)


@dataclass(frozen=True, eq=False)
class Peak:
    """What ran in the call whose peak was measured.

    Attributes:
        rows: Rows of the batch.
        at_once: The most rows that the first block received at once.
        events: Forwards and recomputations of the first block, and backward passes, in order.
    """

    rows: int
    at_once: int
    events: Sequence[str]

    @property
    def is_recomputed(self) -> bool:
        """Whether the first block was recomputed."""
        return "recomputed" in self.events


PEAK = Table[Peak](
    Misconception(
        "activations_of_all_blocks_kept",
        "You keep the activations of all blocks of a row. Recompute them block by block.",
        shown_by=lambda peak: peak.at_once < peak.rows and not peak.is_recomputed,
    ),
    Misconception(
        "nothing_saved",
        "You run all rows at once and keep all activations. Two tools of Part II are needed together.",
        shown_by=lambda peak: peak.at_once == peak.rows and not peak.is_recomputed,
    ),
    Misconception(
        "whole_batch_at_once",
        "You run all rows at once, so even one block holds too much. Split the batch as well.",
        shown_by=lambda peak: peak.at_once == peak.rows,
    ),
    Misconception(
        "too_many_rows_at_once",
        "You run {at_once} rows at once. Run one at a time.",
        shown_by=lambda peak: peak.at_once > 1,
    ),
    Misconception(
        "graphs_kept",
        "You add up losses, which keeps what each row needs for its backward pass. Call backward() for each row.",
        shown_by=lambda peak: most_forwards_waiting(peak.events) > 1,
    ),
    Misconception(
        "tensors_kept",
        "You still hold too much at once. Look for losses, logits or graphs of earlier rows, and for a recomputation "
        "of all blocks together.",
        shown_by=lambda peak: True,
    ),
)


@keep_cases
def _needed_bytes(case: BudgetCase) -> int:
    """Return what model and batch hold before anything runs."""
    return distinct_storage_bytes([*case.make_model().parameters(), *case.make_batch()])


@keep_cases
def _baseline(case: BudgetCase, operators: str) -> PeakMemory:
    """Forecast the plain update."""

    def prepare() -> dict[str, object]:
        model, (tokens, targets) = case.make_model(), case.make_batch()
        optimizer = case.make_optimizer(model)

        def step() -> None:
            loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())  # over [rows * time, vocabulary]
            torch.autograd.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": (tokens, targets)}

    return forecast_peak_memory(prepare, operators=operators)
