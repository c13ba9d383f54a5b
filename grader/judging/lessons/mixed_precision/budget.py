"""Verdicts on an update within a byte budget: the gradient of the whole batch, and the peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.budget import claimed_peak_bytes, judge_budget
from grader.judging.equivalence import compare
from grader.judging.lessons.mixed_precision.budget_gradient import explain_budget_gradient, gradient_of_rows
from grader.judging.lessons.mixed_precision.near import judge_movement, judge_start
from grader.judging.updates import most_forwards_waiting
from grader.judging.vectors import tensors_of
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
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = _judge_update(case, facts, tensors)
        if verdict:
            return verdict
        worst = max(worst, compare(tensors["gradient.0"], gradient_of_rows(case, case.rows)).relative_error)
    measured = f"the gradient of the whole batch, with a relative error of {worst:.0e}"
    return Verdict(PASSED, "one update with the gradient of the whole batch", measured)


def _judge_update(case: BudgetCase, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Verdict | None:
    return (
        _judge_formats(facts["weight_formats"])
        or _judge_events(facts)
        or judge_start(tensors, case.make_model())
        or explain_budget_gradient(case, facts, tensors)
        or judge_movement(tensors, 0, BUDGET_LEARNING_RATE, "the update")
    )


def _judge_formats(formats: Sequence[str]) -> Verdict | None:
    if list(formats) == ["float32"]:
        return None
    look_at = "which of your lines changes the format of the weights: they have to stay as they are handed over"
    return Verdict("weights_converted", "weights in float32", f"weights in {', '.join(formats)}", look_at)


def _judge_events(facts: Mapping[str, Any]) -> Verdict | None:
    updates = facts["events"].count("update")
    expected = "one update, with the gradient of the mean loss of all rows"
    if updates == 0:
        return Verdict("no_update", expected, "no update", "who calls optimizer.step()")
    if updates > 1:
        look_at = "all rows belong to one update: when does the optimizer step?"
        return Verdict("several_updates", expected, f"{updates} updates", look_at)
    if facts["given_steps"] != 1:
        look_at = "the optimizer that your function is given has its own learning rate and state"
        return Verdict("another_optimizer", f"{expected}, by the given optimizer", "a step of another one", look_at)
    return None


def judge_update_peak(observation: Observation, seed: int) -> Verdict:
    """Judge the peak of a right update against the plain update's."""
    case, facts = peak_budget_case(seed), observation.facts
    verdict = _judge_formats(facts["peak_weight_formats"]) or _judge_measured_update(case, observation)
    if verdict:
        return verdict
    (claim,) = facts["claims"]
    peak_bytes = claimed_peak_bytes(claim, _needed_bytes(case))
    baseline = _baseline(case, "cpu" if claim["device"] == "cpu" else "cuda")
    code, look_at = _explain(case, facts["block_rows"], facts["events"])
    return judge_budget(peak_bytes, baseline, SHARE, code=code, look_at=look_at)


def _judge_measured_update(case: BudgetCase, observation: Observation) -> Verdict | None:
    """A peak counts only for the update that is asked for."""
    (facts,) = observation.facts["settings"]
    wrong = _judge_update(case, facts, tensors_of(observation, 0))
    if wrong is None:
        return None
    expected = f"the peak of a right update: {wrong.expected}"
    look_at = "the update first, then its peak: the check above says what is wrong with it"
    return Verdict("peak_of_another_update", expected, wrong.measured, look_at)


def _explain(case: BudgetCase, block_rows: Sequence[int], events: Sequence[str]) -> tuple[str, str]:
    """Say what keeps a peak high, from how many rows the first block saw at once, and what was recomputed."""
    at_once, is_recomputed = max(block_rows, default=0), "recomputed" in events
    if at_once < case.rows and not is_recomputed:
        look_at = "one row alone keeps the activations of all blocks: who says that they have to be kept?"
        return "activations_of_all_blocks_kept", look_at
    if at_once == case.rows and is_recomputed:
        return "whole_batch_at_once", "all rows run at once: is one block alone too large for that?"
    if at_once == case.rows:
        return "nothing_saved", "two tools of Part II: each of them alone is not enough here"
    if at_once > 1:
        return "too_many_rows_at_once", f"{at_once} rows run at once: how few can run at once?"
    if most_forwards_waiting(events) > 1:
        return "graphs_kept", "a sum of losses keeps what each row needs for its backward: where is it called?"
    return "tensors_kept", "losses, logits or graphs of earlier rows that are still alive, or a recomputation too wide"


@lru_cache(maxsize=4)
def _needed_bytes(case: BudgetCase) -> int:
    """Return what model and batch hold before anything runs."""
    return distinct_storage_bytes([*case.make_model().parameters(), *case.make_batch()])


@lru_cache(maxsize=4)
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
