"""Verdict on Adafactor written by hand: the steps of transformers, from a factored state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from grader.judging.lessons.adafactor.trajectories import describe, judge_runs, read_runs
from grader.lessons.adafactor.updates import STEPS, AdafactorCase, adafactor_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

MOST_COUNTERS = 4  # a step count may be a tensor of one number, and there may be a few of them


def judge_adafactor_steps(observation: Observation, seed: int) -> Verdict:
    """Judge the weights after each step, and what each state keeps."""
    cases, settings = adafactor_cases(seed), observation.facts["settings"]
    for case, facts in zip(cases, settings, strict=True):
        for index, is_changed in enumerate(facts["is_gradient_changed"]):
            if is_changed:
                look_at = "a line that writes into the gradient: make a new tensor instead"
                expected = f"the gradient as it was ({describe(case, index)})"
                return Verdict("gradient_changed", expected, "another gradient after the step", look_at)
    verdict = judge_runs(read_runs(cases, observation.tensors))
    if verdict:
        return verdict
    for case, facts in zip(cases, settings, strict=True):
        verdict = _judge_state(case, facts)
        if verdict:
            return verdict
    tensors = sum(len(case.shapes) for case in cases)
    measured = f"{tensors} tensors that follow Adafactor for {STEPS} steps, matrices with a state of rows and columns"
    return Verdict(PASSED, "the steps of Adafactor", measured)


def _judge_state(case: AdafactorCase, facts: Mapping[str, Any]) -> Verdict | None:
    for index, (shape, elements) in enumerate(zip(case.shapes, facts["state_elements"], strict=True)):
        is_updated = case.first_steps.get(index, 1) <= STEPS
        numbers = torch.Size(shape).numel()
        least = torch.Size(shape[:-2]).numel() * sum(shape[-2:]) if len(shape) > 1 else numbers
        if not is_updated:
            least = 0
        if least <= elements <= least + (MOST_COUNTERS if is_updated else 0):
            continue
        kept = f"{least} numbers of second moment ({describe(case, index)})" if is_updated else "no state: no gradient"
        measured = f"{elements} numbers in tensors of its state"
        if elements < least:
            look_at = "where the means are kept: optimizer.state is what a checkpoint saves"
            return Verdict("means_kept_elsewhere", kept, measured, look_at)
        if not is_updated:
            look_at = "when the state is made: a tensor that never has a gradient needs none"
            return Verdict("state_without_gradient", kept, measured, look_at)
        look_at = "what the state keeps beside the means: the next step needs nothing else"
        return Verdict("state_too_large", kept, measured, look_at)
    return None
