"""Judges the peak of a checkpoint written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from grader.judging.budget import claimed_peak_bytes, judge_budget
from grader.judging.kept import keep_cases
from grader.lessons.gradient_checkpointing.functions import FunctionPeakCase, function_peak_case
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.verdict import Verdict

SHARE = 0.5


def judge_checkpoint_peak(observation: Observation, seed: int) -> Verdict:
    """Judge the peak against the plain blocks', and whether every block ran again."""
    case = function_peak_case(seed)
    (claim,) = observation.facts["claims"]
    peak_bytes = claimed_peak_bytes(claim, _needed_bytes(case))
    code, look_at = _explain(observation.facts)
    baseline = _baseline(case, "cpu" if claim["device"] == "cpu" else "cuda")
    verdict = judge_budget(peak_bytes, baseline, SHARE, code=code, look_at=look_at)
    runs = len(observation.facts["recomputed"])
    if verdict.is_passed and runs != case.blocks:
        if not runs and not any(observation.facts["is_graph_made"]):
            look_at = "You give apply no tensor that needs a gradient, so no graph is made. Look at its arguments."
            expected, measured = "an output that needs a gradient", "no graph, and no run in backward"
            return Verdict("peak_without_graph", expected, measured, look_at)
        if list(observation.facts["recomputed"]) == [case.blocks - 1]:
            look_at = "You cut the last block off from those before it. Look for a detach()."
            return Verdict("only_last_block_run_again", "every block run again", "the last one alone", look_at)
        expected = f"each of {case.blocks} blocks run again in backward"
        look_at = "You do not run each block once in backward. Look at which blocks are checkpointed."
        return Verdict("not_run_again", expected, f"{runs} runs in backward", look_at)
    return verdict


def _explain(facts: Mapping[str, Any]) -> tuple[str, str]:
    if not facts["recomputed"]:
        return "graphs_kept", "You run no block again, so the graph of the first run is still held. Look at backward."
    if any(facts["is_graph_made"]):
        return (
            "graph_made_in_forward",
            "You make a graph in forward, which keeps what a checkpoint throws away. Look for enable_grad.",
        )
    return (
        "activations_kept",
        "You keep more than the input of a block. Look at what ctx holds: outputs, graphs, earlier runs.",
    )


@keep_cases
def _needed_bytes(case: FunctionPeakCase) -> int:
    """Return what model and input hold before anything runs."""
    return distinct_storage_bytes([*case.make_model().parameters(), case.make_inputs()])


@keep_cases
def _baseline(case: FunctionPeakCase, operators: str) -> PeakMemory:
    """Forecast the plain blocks."""

    def prepare() -> dict[str, object]:
        model, inputs = case.make_model(), torch.zeros(case.batch, case.width)

        def step() -> None:
            model.zero_grad()
            torch.autograd.backward(model(inputs).sum())

        return {"step": step, "model": model, "inputs": inputs}

    return forecast_peak_memory(prepare, operators=operators)
