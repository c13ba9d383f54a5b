"""Verdict on the peak of an update inside backward."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch

from grader.judging.budget import claimed_peak_bytes, judge_budget
from grader.lessons.adamw.backward import BackwardPeakCase, backward_peak_case
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import Verdict

SHARE = 0.92  # the solution reaches 86 to 87 %; with gradients that wait it is 100 %


def judge_adam_backward_peak(observation: Observation, seed: int) -> Verdict:
    """Judge the peak against backward, step and zero_grad one after the other."""
    case = backward_peak_case(seed)
    (claim,) = observation.facts["claims"]
    peak_bytes = claimed_peak_bytes(claim, _needed_bytes(case))
    baseline = _baseline(case, "cpu" if claim["device"] == "cpu" else "cuda")
    verdict = _judge_state(case, claim, observation.facts)
    if verdict:
        return verdict
    code, look_at = _explain(observation.facts)
    return judge_budget(peak_bytes, baseline, SHARE, code=code, look_at=look_at)


@lru_cache(maxsize=4)
def _needed_bytes(case: BackwardPeakCase) -> int:
    """Return what model and inputs hold before anything runs."""
    return distinct_storage_bytes(case.make_model().parameters()) + case.make_inputs().nbytes


def _judge_state(case: BackwardPeakCase, claim: Mapping[str, Any], facts: Mapping[str, Any]) -> Verdict | None:
    """Find out whether AdamW's two moments are there when the measured backward begins."""
    expected = "every parameter updated by AdamW while backward runs"
    if not facts["steps_inside"]:
        look_at = "who updates the weights while backward runs"
        return Verdict("peak_without_steps", expected, "no step while backward runs", look_at)
    if facts["steps_of_others"]:
        look_at = "which optimizer updates: one that make_optimizer makes"
        return Verdict("peak_of_another_optimizer", expected, f"{facts['steps_of_others']} steps of others", look_at)
    model_bytes = distinct_storage_bytes(case.make_model().parameters())
    state_bytes = claim["peak_bytes"] - claim["above_entry_bytes"] - _needed_bytes(case)
    if state_bytes < 2 * model_bytes:
        measured = (
            f"{format_bytes(max(state_bytes, 0))} of state, where two moments take {format_bytes(2 * model_bytes)}"
        )
        return Verdict("peak_without_state", expected, measured, "which parameters are updated, and by which optimizer")
    return None


@lru_cache(maxsize=4)
def _baseline(case: BackwardPeakCase, operators: str) -> PeakMemory:
    """Forecast the plain update."""

    def prepare() -> dict[str, object]:
        model, inputs = case.make_model(), case.make_inputs()
        optimizer = case.make_optimizer(model.parameters())

        def step() -> None:
            loss = model(inputs).square().mean()
            torch.autograd.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}

    return forecast_peak_memory(prepare, operators=operators)


def _explain(facts: Mapping[str, Any]) -> tuple[str, str]:
    if facts["gradients_alive"] > 1:
        return "peak_with_gradients", f"{facts['gradients_alive']} gradients are alive together: who frees them?"
    return "peak_with_other_tensors", "what your hooks keep: copies of weights, lists of gradients"
