"""Verdict on the peak of an update inside backward."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch

from grader.cases.adamw import BackwardPeakCase, backward_peak_case
from grader.judges.budget import claimed_peak_bytes, judge_budget
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.verdict import Verdict

SHARE = 0.92  # the solution reaches 86 to 87 %; with gradients that wait it is 100 %


def judge_adam_backward_peak(observation: Observation, seed: int) -> Verdict:
    """Judge the peak against backward, step and zero_grad one after the other."""
    case = backward_peak_case(seed)
    (claim,) = observation.facts["claims"]
    peak_bytes = claimed_peak_bytes(claim, _needed_bytes(case))
    baseline = _baseline(case, "cpu" if claim["device"] == "cpu" else "cuda")
    code, look_at = _explain(observation.facts)
    return judge_budget(peak_bytes, baseline, SHARE, code=code, look_at=look_at)


@lru_cache(maxsize=4)
def _needed_bytes(case: BackwardPeakCase) -> int:
    """Return what model, its two moments and the inputs hold before a step."""
    parameters = list(case.make_model().parameters())
    return 3 * distinct_storage_bytes(parameters) + case.make_inputs().nbytes


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
    if not facts["steps_inside"]:
        return "peak_without_steps", "who updates the weights while backward runs"
    if facts["gradients_alive"] > 1:
        return "peak_with_gradients", f"{facts['gradients_alive']} gradients are alive together: who frees them?"
    return "peak_with_other_tensors", "what your hooks keep: copies of weights, lists of gradients"
