"""Judges the peak of accumulation over tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F

from grader.judging.budget import claimed_peak_bytes, judge_budget
from grader.judging.kept import keep_cases
from grader.judging.updates import most_forwards_waiting
from grader.lessons.gradient_accumulation.tokens import TokenCase, token_budget_case
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.verdict import Verdict

SHARE = 0.4


def judge_token_peak(observation: Observation, seed: int) -> Verdict:
    """Judge the peak against the whole batch in one forward."""
    case = token_budget_case(seed)
    (claim,) = observation.facts["claims"]
    peak_bytes = claimed_peak_bytes(claim, _needed_bytes(case))
    baseline = _baseline(case, "cpu" if claim["device"] == "cpu" else "cuda")
    code, look_at = _explain(observation.facts, max(len(rows) for rows in case.lengths))
    return judge_budget(peak_bytes, baseline, SHARE, code=code, look_at=look_at)


@keep_cases
def _needed_bytes(case: TokenCase) -> int:
    """Return what model and inputs hold before anything runs."""
    inputs = [tensor for micro_batch in case.make_micro_batches() for tensor in micro_batch]
    return distinct_storage_bytes([*case.make_model().parameters(), *inputs])


@keep_cases
def _baseline(case: TokenCase, operators: str) -> PeakMemory:
    """Forecast the whole batch in one forward."""

    def prepare() -> dict[str, object]:
        model, micro_batches = case.make_model(), case.make_micro_batches()
        tokens, targets = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))  # [rows, time]

        def step() -> None:
            model.zero_grad()
            loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())  # over [rows * time, vocabulary]
            torch.autograd.backward(loss)

        return {"step": step, "model": model, "inputs": (tokens, targets)}

    return forecast_peak_memory(prepare, operators=operators)


def _explain(facts: Mapping[str, Any], rows: int) -> tuple[str, str]:
    """Name what keeps a peak high, from the forwards and backwards that were seen."""
    at_once = max(facts["forward_rows"], default=0)
    if at_once > rows:
        return (
            "whole_batch_in_one_forward",
            f"You pass {at_once} rows to the model at once. Pass one micro-batch at a time.",
        )
    if most_forwards_waiting(facts["events"]) > 1:
        return (
            "graphs_kept",
            "You sum the losses before backward(), which keeps the graph of every forward. "
            "Call backward() for each micro-batch.",
        )
    return (
        "tensors_kept",
        "You keep logits, losses or graphs of earlier micro-batches. Look for lists and retain_graph.",
    )
