"""Verdicts on an update within a byte budget: the gradient of the whole batch, and the peak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.cases.mixed_precision import BudgetCase, gradient_budget_cases, peak_budget_case
from grader.cases.mixed_precision.budget import BUDGET_LEARNING_RATE
from grader.judges.budget import claimed_peak_bytes, judge_budget
from grader.judges.equivalence import RELATIVE_TOLERANCE, compare
from grader.judges.group_gradient import mixture
from grader.judges.mixed_precision.near import judge_movement, judge_start
from grader.judges.updates import most_forwards_waiting
from grader.judges.vectors import gradient_at, tensors_of
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
        verdict = (
            _judge_events(facts)
            or judge_start(tensors, case.make_model())
            or _judge_gradient(case, facts, tensors)
            or judge_movement(tensors, 0, BUDGET_LEARNING_RATE, "the update")
        )
        if verdict:
            return verdict
        worst = max(worst, compare(tensors["gradient.0"], _gradient(case, case.rows)).relative_error)
    measured = f"the gradient of the whole batch, with a relative error of {worst:.0e}"
    return Verdict(PASSED, "one update with the gradient of the whole batch", measured)


def _judge_events(facts: Mapping[str, Any]) -> Verdict | None:
    updates = facts["events"].count("update")
    expected = "one update, with the gradient of the mean loss of all rows"
    if updates == 0:
        return Verdict("no_update", expected, "no update", "who calls optimizer.step()")
    if updates > 1:
        look_at = "all rows belong to one update: when does the optimizer step?"
        return Verdict("several_updates", expected, f"{updates} updates", look_at)
    return None


def _judge_gradient(case: BudgetCase, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Verdict | None:
    seen, wanted = tensors["gradient.0"], _gradient(case, case.rows)
    comparison = compare(seen, wanted)
    if comparison.is_equal:
        return None
    expected = f"the gradient of the mean loss of all {case.rows} rows"
    if set(facts["autocast_formats"]) - {"float32"}:
        measured = f"a gradient that differs from it by {comparison.relative_error:.1%}, from forwards in 16 bit"
        look_at = "fewer bits change the gradient: which of your tools leave it as it is?"
        return Verdict("computed_in_16_bit", expected, measured, look_at)
    if not bool(torch.isfinite(seen).all()):
        return Verdict("gradient_not_finite", expected, "NaN or infinity", "a division by zero, or an overflow")
    return _explain_gradient(case, seen, expected)


def _explain_gradient(case: BudgetCase, seen: Tensor, expected: str) -> Verdict:
    wanted = _gradient(case, case.rows)
    comparison = compare(seen, wanted)
    measured = f"a gradient that differs from it by {comparison.relative_error:.0%}"
    if comparison.residual <= RELATIVE_TOLERANCE:
        measured = f"exactly {comparison.factor:.4g} times that gradient"
    for code, gradient, look_at in _known(case, wanted):
        if compare(seen, gradient).is_equal:
            return Verdict(code, expected, measured, look_at)
    rows = [_gradient(case, 1, start) for start in range(case.rows)]
    weights = mixture(seen, rows)
    if weights is not None and comparison.residual > RELATIVE_TOLERANCE:
        measured = f"a gradient whose rows weigh {', '.join(f'{weight:.3g}' for weight in weights)}"
        look_at = "micro-batches with unequal numbers of rows: does every row weigh the same?"
        return Verdict("rows_weighed_unequally", expected, measured, look_at)
    divisor = case.rows / comparison.factor if comparison.factor else 0.0
    if comparison.residual <= RELATIVE_TOLERANCE and divisor > 0.5 and abs(divisor - round(divisor)) < 1e-3:
        measured += f", as after a division by {divisor:.0f}"
        look_at = f"a division by {divisor:.0f}: how many rows are there in this batch?"
        return Verdict("divided_by_another_number", expected, measured, look_at)
    if comparison.residual <= RELATIVE_TOLERANCE:
        look_at = f"which division or product leaves a factor of {comparison.factor:.4g}"
        return Verdict("gradient_scaled", expected, measured, look_at)
    return Verdict("other_gradient", expected, measured, "which parameters get a gradient, and from which rows")


def _known(case: BudgetCase, wanted: Tensor) -> Iterator[tuple[str, Tensor, str]]:
    look_at = "the loss of each part is a mean: what makes their sum the mean of all?"
    yield "gradient_not_averaged", wanted * case.rows, look_at
    look_at = "two divisions by the number of parts"
    yield "gradient_divided_twice", wanted / case.rows, look_at
    look_at = "cross_entropy's sum: by how many tokens is it divided?"
    yield "sum_not_divided", wanted * case.rows * case.time, look_at
    look_at = "zero_grad(), or a step on one part: what is left in .grad of the parts before?"
    for divisor in (1, case.rows):
        yield "last_row_only", _gradient(case, 1, case.rows - 1) / divisor, look_at


def _weights(case: BudgetCase) -> Tensor:
    return torch.cat([weight.detach().flatten() for weight in case.make_model().parameters()])


@lru_cache(maxsize=64)
def _gradient(case: BudgetCase, rows: int, start: int = 0) -> Tensor:
    """Return the gradient of the mean loss of some rows."""
    model = case.make_model()
    tokens, targets = (part[start : start + rows] for part in case.make_batch())

    def loss(_: int) -> Tensor:
        return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())

    return gradient_at(model, loss, _weights(case), 0)


def judge_update_peak(observation: Observation, seed: int) -> Verdict:
    """Judge the peak against the plain update."""
    case = peak_budget_case(seed)
    (claim,) = observation.facts["claims"]
    peak_bytes = claimed_peak_bytes(claim, _needed_bytes(case))
    baseline = _baseline(case, "cpu" if claim["device"] == "cpu" else "cuda")
    code, look_at = _explain(case, observation.facts["block_rows"], observation.facts["events"])
    return judge_budget(peak_bytes, baseline, SHARE, code=code, look_at=look_at)


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
